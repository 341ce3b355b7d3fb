# Methods of fits, with the values that lme4's have.

fixef.lmer_fast <- function(object, ...) {
  stats::setNames(object$coefficients$estimate, row.names(object$coefficients))
}

ranef.lmer_fast <- function(object, ...) object$modes

coef.lmer_fast <- function(object, ...) {
  fixed <- fixef(object)
  only_random <- setdiff(unlist(lapply(object$modes, names)), names(fixed))
  values <- c(stats::setNames(numeric(length(only_random)), only_random), fixed)
  lapply(object$modes, function(modes) {
    table <- as.data.frame(lapply(values, rep, nrow(modes)), row.names = row.names(modes), optional = TRUE)
    table[names(modes)] <- table[names(modes)] + modes
    table
  })
}

VarCorr.lmer_fast <- function(x, sigma = 1, ...) {
  structure(x$varcov, sc = x$sigma, useSc = TRUE, class = "VarCorr.merMod")
}

vcov.lmer_fast <- function(object, ...) object$covariance

sigma.lmer_fast <- function(object, ...) object$sigma

nobs.lmer_fast <- function(object, ...) object$nobs

df.residual.lmer_fast <- function(object, ...) object$nobs - object$npar

formula.lmer_fast <- function(x, ...) x$formula

model.frame.lmer_fast <- function(formula, ...) formula$frame

logLik.lmer_fast <- function(object, ...) {
  structure(object$loglik, df = object$npar, nobs = object$nobs, class = "logLik")
}

fitted.lmer_fast <- function(object, ...) napredict(object$na.action, object$fitted)

residuals.lmer_fast <- function(object, ...) {
  naresid(object$na.action, model.response(object$frame) - object$fitted)
}

predict.lmer_fast <- function(object, newdata = NULL, re.form = NULL, allow.new.levels = FALSE, ...) {
  with_random <- !(inherits(re.form, "formula") || isTRUE(is.na(re.form)))
  frame <- object$frame
  if (!is.null(newdata)) {
    of <- if (with_random) delete.response(terms(frame)) else object$fixed_terms
    # The fit's contrasts are given below; model.frame() would warn that it drops the data's.
    newdata[] <- lapply(newdata, function(of) structure(of, contrasts = NULL))
    groups <- unlist(lapply(object$random, `[[`, "group"))
    xlevels <- object$xlevels[setdiff(names(object$xlevels), groups)]
    xlevels <- xlevels[names(xlevels) %in% vapply(as.list(attr(of, "variables")), deparse1, "")]
    frame <- model.frame(of, newdata, na.action = stats::na.pass, xlev = xlevels)
  }
  X <- model.matrix(object$fixed_terms, frame, contrasts.arg = object$contrasts)
  fixed <- fixef(object)
  values <- drop(X[, names(fixed), drop = FALSE] %*% fixed)
  if (!is.null(model.offset(frame))) values <- values + model.offset(frame)
  for (term in if (with_random) object$random) {
    Z <- if (is.null(newdata)) term$Z else model.matrix(term$formula, frame, attr(term$Z, "contrasts"))
    modes <- as.matrix(object$modes[[term$name]])[, colnames(term$Z), drop = FALSE]
    levels <- as.character(if (is.null(newdata)) term$factor else group_factor(term$group, frame))
    new <- setdiff(levels, c(row.names(modes), NA))
    if (length(new) && !allow.new.levels) {
      stop(term$name, " has the level '", new[1], "', which the fit has not seen; allow.new.levels = TRUE ",
           "predicts it without its random effects", call. = FALSE)
    }
    effects <- modes[match(levels, row.names(modes)), , drop = FALSE]
    effects[!is.na(levels) & levels %in% new, ] <- 0
    values <- values + rowSums(Z * effects)
  }
  values
}

confint.lmer_fast <- function(object, parm = names(fixef(object)), level = 0.95, ...) {
  of <- object$coefficients
  quantile <- if (is.null(of$df)) qnorm((1 + level) / 2) else qt((1 + level) / 2, of$df)
  limits <- cbind(of$estimate - quantile * of$se, of$estimate + quantile * of$se)
  dimnames(limits) <- list(row.names(of), paste(100 * c(1 - level, 1 + level) / 2, "%"))
  limits[parm, , drop = FALSE]
}

anova.lmer_fast <- function(object, ...) {
  fits <- list(object, ...)
  if (length(fits) < 2 || !all(vapply(fits, inherits, TRUE, "lmer_fast"))) {
    stop("anova() compares two or more fits of lmer_fast()", call. = FALSE)
  }
  fits <- fits[order(vapply(fits, `[[`, 0, "npar"))]
  first <- fits[[1]]
  for (fit in fits[-1]) {
    if (!identical(unname(model.response(fit$frame)), unname(model.response(first$frame)))) {
      stop("the fits have different rows or responses", call. = FALSE)
    }
    if (fit$REML != first$REML || (fit$REML && !setequal(names(fixef(fit)), names(fixef(first))))) {
      stop("fits by REML with different fixed effects, or by REML and ML, have no likelihood ratio: ",
           "fit them with REML = FALSE", call. = FALSE)
    }
  }
  npar <- vapply(fits, `[[`, 0, "npar")
  loglik <- vapply(fits, `[[`, 0, "loglik")
  chisq <- c(NA, pmax(0, 2 * diff(loglik)))
  df <- c(NA, diff(npar))
  p <- ifelse(is.na(df) | df > 0, pchisq(chisq, df, lower.tail = FALSE), NA)
  table <- data.frame(npar, AIC = 2 * npar - 2 * loglik, BIC = log(first$nobs) * npar - 2 * loglik,
                      logLik = loglik, Chisq = chisq, Df = df, `Pr(>Chisq)` = p, check.names = FALSE,
                      row.names = make.unique(vapply(fits, function(fit) deparse1(fit$formula), "")))
  structure(table, heading = "Likelihood ratio test", class = c("anova", "data.frame"))
}

summary.lmer_fast <- function(object, ...) {
  of <- object$coefficients
  names <- c(estimate = "Estimate", se = "Std. Error", df = "df", t = "t value", p = "Pr(>|t|)")
  of <- as.matrix(of[intersect(names(names), names(of))])
  colnames(of) <- names[colnames(of)]
  structure(list(fit = object, coefficients = of), class = "summary.lmer_fast")
}

print.lmer_fast <- function(x, ...) {
  print(summary(x), ...)
  invisible(x)
}

print.summary.lmer_fast <- function(x, digits = max(3, getOption("digits") - 3), ...) {
  fit <- x$fit
  by <- if (fit$ddf == "none") "" else paste0("; t tests by ", fit$ddf, "'s method")
  cat("Linear mixed model fit by ", if (fit$REML) "REML" else "maximum likelihood", by, "\n", sep = "")
  cat("Formula: ", deparse1(fit$formula), "\n", sep = "")
  cat("logLik ", format(fit$loglik, digits = digits + 3), " (df = ", fit$npar, ")\n\nRandom effects:\n", sep = "")
  print(random_table(fit, digits), row.names = FALSE, right = FALSE)
  levels <- paste(names(fit$modes), vapply(fit$modes, nrow, 0L), sep = ", ", collapse = "; ")
  cat("Number of obs: ", fit$nobs, ", groups: ", levels, "\n\nFixed effects:\n", sep = "")
  printCoefmat(x$coefficients, digits = digits, cs.ind = 1:2, has.Pvalue = fit$ddf != "none",
               tst.ind = which(colnames(x$coefficients) == "t value"))
  if (nzchar(fit$note)) cat("Note: ", fit$note, "\n", sep = "")
  invisible(x)
}

# Variances, standard deviations and correlations of the random effects as text.
random_table <- function(fit, digits) {
  shown <- function(values) formatC(values, digits = digits, format = "fg", flag = "#")
  parts <- Map(function(group, of) {
    sd <- attr(of, "stddev")
    correlations <- vapply(seq_along(sd), function(i) {
      paste(formatC(attr(of, "correlation")[i, seq_len(i - 1)], digits = 2, format = "f"), collapse = " ")
    }, "")
    data.frame(Groups = group, Name = names(sd), Variance = shown(sd^2), Std.Dev. = shown(sd), Corr = correlations)
  }, names(fit$varcov), fit$varcov)
  residual <- data.frame(Groups = "Residual", Name = "", Variance = shown(fit$sigma^2),
                         Std.Dev. = shown(fit$sigma), Corr = "")
  do.call(rbind, c(unname(parts), list(residual)))
}
