# Tidiers for broom, registered when generics is loaded.

# Standard deviations and correlations of the random effects, named as by broom.mixed.
ran_pars <- function(fit) {
  parts <- Map(function(group, of) {
    sd <- attr(of, "stddev")
    correlation <- attr(of, "correlation")
    at <- which(lower.tri(correlation), arr.ind = TRUE)
    data.frame(group = group,
               term = c(paste0("sd__", names(sd)),
                        paste0("cor__", names(sd)[at[, 2]], ".", names(sd)[at[, 1]], recycle0 = TRUE)),
               estimate = c(unname(sd), correlation[at]))
  }, names(fit$varcov), fit$varcov)
  residual <- data.frame(group = "Residual", term = "sd__Observation", estimate = fit$sigma)
  do.call(rbind, c(unname(parts), list(residual)))
}

tidy.lmer_fast <- function(x, effects = c("fixed", "ran_pars"), conf.int = FALSE, conf.level = 0.95, ...) {
  effects <- match.arg(effects, several.ok = TRUE)
  of <- x$coefficients
  fixed <- data.frame(effect = "fixed", group = NA_character_, term = row.names(of), estimate = of$estimate,
                      std.error = of$se, statistic = of$t)
  if (!is.null(of$df)) fixed <- cbind(fixed, df = of$df, p.value = of$p)
  if (conf.int) {
    limits <- unname(confint(x, level = conf.level))
    fixed <- cbind(fixed, conf.low = limits[, 1], conf.high = limits[, 2])
  }
  random <- cbind(effect = "ran_pars", ran_pars(x))
  random[setdiff(names(fixed), names(random))] <- NA_real_
  table <- rbind(fixed, random[names(fixed)])
  table <- table[table$effect %in% effects, ]
  row.names(table) <- NULL
  table
}

glance.lmer_fast <- function(x, ...) {
  data.frame(nobs = x$nobs, sigma = x$sigma, logLik = x$loglik, AIC = stats::AIC(x), BIC = stats::BIC(x),
             df.residual = x$nobs - x$npar, converged = x$converged, singular = x$singular)
}

augment.lmer_fast <- function(x, ...) {
  cbind(x$frame, .fitted = x$fitted, .resid = unname(model.response(x$frame) - x$fitted))
}
