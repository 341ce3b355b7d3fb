# The part of an additive model that runs in mgcv: bam(), and summaries of its fit.
suppressPackageStartupMessages(library(mgcv))

fit_additive <- function(formula, data, family, discrete) {
  bam(formula, data = data, family = family, method = "fREML", discrete = discrete)
}

is_random <- function(fit) vapply(fit$smooth, inherits, logical(1), "random.effect")

# Repeat one row in which every variable is at its median or first level.
typical <- function(fit, times) {
  values <- lapply(fit$var.summary, function(v) if (is.factor(v)) rep(v[1], times) else
    rep(v[2], times))
  as.data.frame(values)
}

# The smooth of one variable over its range: list(x, effect, standard error), centred as in mgcv.
curve_of <- function(fit, smooth, points) {
  range <- fit$var.summary[[smooth$term]][c(1, 3)]
  data <- typical(fit, points)
  data[[smooth$term]] <- seq(range[1], range[2], length.out = points)
  result <- predict.gam(fit, data, type = "terms", terms = smooth$label, se.fit = TRUE)
  list(data[[smooth$term]], as.numeric(result$fit), as.numeric(result$se.fit))
}

random_of <- function(fit, smooth) {
  group <- Filter(function(name) is.factor(fit$var.summary[[name]]), smooth$term)
  column <- setdiff(smooth$term, group)
  # The standard deviation of gam.vcomp(), from mgcv's penalty with its scaling undone.
  index <- smooth$first.sp
  list(group = group, column = if (length(column)) column else "(Intercept)",
       levels = levels(fit$var.summary[[group]]),
       coefficients = as.numeric(coef(fit)[smooth$first.para:smooth$last.para]),
       sd = sqrt(fit$sig2 * smooth$S.scale / fit$sp[index]))
}

summarise_additive <- function(fit, points) {
  random <- is_random(fit)
  table <- summary(fit, re.test = FALSE)
  list(
    fixed = names(coef(fit))[seq_len(fit$nsdf)],
    estimates = as.numeric(coef(fit)[seq_len(fit$nsdf)]),
    se = as.numeric(sqrt(diag(fit$Vp)[seq_len(fit$nsdf)])),
    sigma = sqrt(fit$sig2),
    loglik = as.numeric(logLik(fit)),
    aic = AIC(fit),
    bic = BIC(fit),
    converged = !identical(fit$converged, FALSE),
    labels = vapply(fit$smooth[!random], function(s) s$label, ""),
    terms = lapply(fit$smooth[!random], function(s) s$term),
    tests = lapply(which(!random), function(i) {
      as.numeric(table$s.table[fit$smooth[[i]]$label, ])
    }),
    curves = lapply(fit$smooth[!random], function(s) {
      if (length(s$term) == 1) curve_of(fit, s, points) else list()
    }),
    random = lapply(fit$smooth[random], function(s) random_of(fit, s))
  )
}

# Serialise the parts of a fit that predict its fixed part, without data and covariances.
packed <- function(fit) {
  kept <- c("coefficients", "smooth", "family", "pterms", "terms", "pred.formula", "xlevels",
            "contrasts", "assign", "nsdf", "cmX", "var.summary", "formula", "na.action", "sp",
            "sig2")
  fit <- structure(unclass(fit)[intersect(kept, names(fit))], class = c("gam", "glm", "lm"))
  memCompress(serialize(fit, NULL), "xz")
}

unpacked <- function(bytes) unserialize(memDecompress(bytes, "xz"))

# The linear predictor of new data without its random effects.
fixed_additive <- function(fit, data) {
  random <- is_random(fit)
  rows <- typical(fit, nrow(data))
  rows[names(data)] <- data
  labels <- vapply(fit$smooth[random], function(s) s$label, "")
  as.numeric(predict.gam(fit, rows, type = "link", exclude = labels))
}
