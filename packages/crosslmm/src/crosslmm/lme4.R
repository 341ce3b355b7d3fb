# The part of a fit that runs in lme4: it sets the model up, evaluates lme4's deviance, and builds the
# merMod object from which all reported figures are read.
suppressPackageStartupMessages(library(lme4))
library(splines)

# Run f and collect its messages: list(value, messages and warnings, error message if any).
attempt <- function(f, ...) {
  messages <- character()
  keep <- function(restart) function(condition) {
    messages <<- c(messages, trimws(conditionMessage(condition)))
    invokeRestart(restart)
  }
  error <- character()
  value <- tryCatch(
    withCallingHandlers(f(...), warning = keep("muffleWarning"), message = keep("muffleMessage")),
    error = function(condition) {
      error <<- conditionMessage(condition)
      NULL
    }
  )
  list(value, messages, error)
}

as_data_frame <- function(columns) {
  structure(columns, row.names = c(NA_integer_, -length(columns[[1]])), class = "data.frame")
}

as_factor <- function(codes, levels) structure(codes, levels = levels, class = "factor")

with_contrasts <- function(factor, values, labels) {
  matrix <- matrix(values, nlevels(factor), dimnames = list(levels(factor), labels))
  structure(factor, contrasts = matrix)
}

# Convert text to a formula, after checking that it calls only functions in `allowed`: R evaluates calls
# in a formula, and text from elsewhere must not run code.
as_formula <- function(text, allowed) {
  parsed <- parse(text = text, keep.source = FALSE)
  if (length(parsed) != 1 || !is.call(parsed[[1]]) || !identical(parsed[[1]][[1]], as.name("~"))) {
    stop("it is no single formula", call. = FALSE)
  }
  check_calls(parsed[[1]], allowed)
  eval(parsed[[1]], globalenv())
}

check_calls <- function(expression, allowed) {
  if (!is.call(expression)) return(invisible())
  head <- expression[[1]]
  if (is.call(head) && identical(head[[1]], as.name("::")) &&
      as.character(head[[2]]) %in% c("base", "stats", "splines")) {
    head <- head[[3]]
  }
  called <- if (is.symbol(head)) as.character(head) else deparse1(head)
  if (!is.symbol(head) || !called %in% allowed) {
    stop("it calls ", called, "(), which a formula may not", call. = FALSE)
  }
  for (part in as.list(expression)[-1]) check_calls(part, allowed)
}

# The search checks the random terms, so lme4's costly row-wise rank checks are skipped.
set_up <- function(formula, data, REML = FALSE, weights = "") {
  control <- lmerControl(check.nobs.vs.rankZ = "ignore", check.scaleX = "ignore")
  model <- weighted(quote(lFormula(formula, data, REML = REML, control = control,
                                   na.action = na.pass)), formula, weights)
  model$call <- call("lmer", formula = model$formula, REML = REML)
  model
}

# Evaluate an lme4 call in the caller, with a column of the data as weights if one is named. lme4
# assigns a variable `weights` in the formula's environment, so the formula gets a new one.
weighted <- function(call, formula, weights) {
  there <- parent.frame()
  assign("formula", `environment<-`(formula, new.env(parent = globalenv())), there)
  if (nzchar(weights)) call$weights <- as.name(weights)
  eval(call, there)
}

# The same model of a formula whose columns are numeric columns of `data`, with full rank and neither
# weights nor offset. lme4 takes the terms from `some` rows, in which all levels of all groups occur,
# and Z is put together here: lme4's KhatriRao() takes most of the time of a set-up. NULL if the model
# is not of this kind.
set_up_terms <- function(formula, data, some) {
  formula <- `environment<-`(formula, new.env(parent = globalenv()))
  control <- lmerControl(
    check.nobs.vs.rankZ = "ignore", check.nobs.vs.nlev = "ignore", check.nobs.vs.nRE = "ignore",
    check.nlev.gtr.1 = "ignore", check.rankX = "ignore", check.scaleX = "ignore"
  )
  model <- lFormula(formula, data[some, , drop = FALSE], REML = FALSE, control = control,
                    na.action = na.pass)
  terms <- model$reTrms
  columns <- unlist(terms$cnms)
  groups <- names(terms$flist)
  if (!all(c(columns, groups) %in% names(data)) || !all(vapply(data[columns], is.numeric, NA)) ||
      !identical(lapply(terms$flist, levels), lapply(data[groups], levels))) return(NULL)
  n <- nrow(data)
  model$fr <- structure(model.frame(terms(model$fr), data, na.action = na.pass),
                        formula = model$formula)
  model$X <- model.matrix(nobars(model$formula), model$fr)
  places <- lapply(seq_along(terms$cnms), function(term) {
    k <- length(terms$cnms[[term]])
    first <- terms$Gp[term] + k * (unclass(data[[names(terms$cnms)[term]]]) - 1L)
    rep(first, each = k) + seq_len(k) - 1L
  })
  places <- do.call(rbind, lapply(places, matrix, ncol = n))
  values <- do.call(rbind, data[columns])
  terms$Zt <- drop0(new("dgCMatrix", i = as.integer(places), x = as.numeric(values),
                        p = length(columns) * (0:n), Dim = c(terms$Zt@Dim[1], n),
                        Dimnames = list(terms$Zt@Dimnames[[1]], NULL)))
  terms$flist[] <- data[groups]
  terms$Ztlist <- NULL
  model$reTrms <- terms
  model$call <- call("lmer", formula = model$formula, REML = FALSE)
  model
}

# The random terms in lme4's order, which is that of theta: group and columns of each.
terms_of <- function(model) list(groups = names(model$reTrms$cnms), columns = model$reTrms$cnms)

# lme4's deviance at theta (column-major lower triangles, term by term); the model stays at theta.
evaluate <- function(model, theta) {
  model$reTrms$theta <- theta
  model$reTrms$Lambdat@x <- theta[model$reTrms$Lind]
  devfun <- mkLmerDevfun(model$fr, model$X, model$reTrms, REML = model$REML, start = theta)
  # mkLmerDevfun() has evaluated it at theta.
  at <- environment(devfun)
  deviance <- at$resp$objective(at$pp$ldL2(), at$pp$ldRX2(), at$pp$sqrL(1))
  list(devfun = devfun, deviance = deviance)
}

make_at <- function(model, evaluation, theta) {
  optimum <- list(par = theta, fval = evaluation$deviance, conv = 0L,
                  message = "theta searched on cross-products")
  mkMerMod(environment(evaluation$devfun), optimum, model$reTrms, model$fr, model$call)
}

# lme4's optimiser with its defaults: the steps of lmer() after lFormula().
optimise <- function(model) {
  devfun <- mkLmerDevfun(model$fr, model$X, model$reTrms, REML = model$REML)
  optimum <- optimizeLmer(devfun)
  lower <- environment(devfun)$lower
  verdict <- checkConv(attr(optimum, "derivs"), optimum$par, lmerControl()$checkConv, lower)
  if (is.null(attr(optimum, "derivs"))) {
    attr(optimum, "derivs") <- along_axes(devfun, optimum$par)
  }
  mkMerMod(environment(devfun), optimum, model$reTrms, model$fr, model$call, verdict)
}

# Gradient, and the Hessian's diagonal, where lme4 computes no derivatives: for many rows.
along_axes <- function(devfun, theta, step = 1e-3) {
  here <- devfun(theta)
  ends <- vapply(seq_along(theta), function(i) {
    c(devfun(replace(theta, i, theta[i] + step)), devfun(replace(theta, i, theta[i] - step)))
  }, numeric(2))
  devfun(theta)  # the model stays at theta
  curvature <- (ends[1, ] + ends[2, ] - 2 * here) / step^2
  list(gradient = (ends[1, ] - ends[2, ]) / (2 * step), Hessian = diag(curvature, length(theta)))
}

# A generalised model: glmer(), the likelihood by Laplace's approximation. Its defaults stop 1e-4
# log-likelihood units from the optimum; these settings are faster, too. At a singular fit, where
# the bounds L_ii >= 0 may have stopped it, it goes on from a better point off the boundary.
generalised <- function(formula, data, family, weights = "") {
  control <- glmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5),
                          tolPwrss = 1e-11, calc.derivs = FALSE)
  start <- NULL
  run <- function(only = FALSE) {
    start <- start
    weighted(quote(glmer(formula, data = data, family = family, control = control, start = start,
                         devFunOnly = only)), formula, weights)
  }
  fit <- run()
  derivatives <- within_bounds(fit, run(TRUE))
  for (attempt in 1:4) {
    theta <- if (isSingular(fit)) off_boundary(fit, run(TRUE)) else NULL
    if (is.null(theta) && expected_gain(derivatives) > 1e-4) theta <- getME(fit, "theta")
    if (is.null(theta)) break
    start <- list(theta = unname(theta), fixef = unname(fixef(fit)))
    again <- run()
    if (as.numeric(logLik(again)) <= as.numeric(logLik(fit)) + 1e-6) break
    fit <- again
    derivatives <- within_bounds(fit, run(TRUE))
  }
  fit@optinfo$derivs <- derivatives
  fit
}

# The decrease of the deviance that a Newton step is expected to bring.
expected_gain <- function(derivatives) {
  free <- diag(derivatives$Hessian) > 0
  gradient <- derivatives$gradient[free]
  step <- tryCatch(solve(derivatives$Hessian[free, free, drop = FALSE], gradient),
                   error = function(e) 0 * gradient)
  sum(gradient * step) / 2
}

# Gradient and Hessian of the deviance by the parameters that are not near a bound; 0 for the others.
# lme4's differences reach across bounds, and are so small that the deviance's errors, of 1e-5 where
# the random effects' mode is not reached, can rule them. These reach a tenth of a standard error.
within_bounds <- function(fit, devfun) {
  x <- c(getME(fit, "theta"), fixef(fit))
  lower <- c(getME(fit, "lower"), rep(-Inf, length(fixef(fit))))
  free <- which(x > lower + 1e-4)
  gradient <- rep(0, length(x))
  hessian <- matrix(0, length(x), length(x))
  step <- rep(1e-3, length(x))
  at <- function(...) {
    for (move in list(...)) x[abs(move)] <- x[abs(move)] + sign(move) * step[abs(move)]
    devfun(x)
  }
  here <- at()
  for (i in free) {
    step[i] <- min(1e-3, (x[i] - lower[i]) / 2)
    curvature <- (at(i) + at(-i) - 2 * here) / step[i]^2
    step[i] <- 0.1 * sqrt(2 / max(curvature, 1))
    if (x[i] - 3 * step[i] < lower[i]) {
      free <- setdiff(free, i)
      next
    }
    ends <- c(at(i), at(-i))
    gradient[i] <- (ends[1] - ends[2]) / (2 * step[i])
    hessian[i, i] <- (sum(ends) - 2 * here) / step[i]^2
  }
  for (i in free) for (j in free[free < i]) {
    both <- at(i, j) + at(-i, -j) - at(i, -j) - at(-i, j)
    hessian[i, j] <- hessian[j, i] <- both / (4 * step[i] * step[j])
  }
  list(gradient = gradient, Hessian = hessian)
}

# theta at which the deviance is lower than at a singular fit, or NULL: a covariance grows in a
# direction in which it is 0, alone or together with an effect that varies.
off_boundary <- function(fit, devfun, gain = 1e-5) {
  theta <- getME(fit, "theta")
  beta <- fixef(fit)
  at <- function(theta) tryCatch(devfun(c(theta, beta)), error = function(e) Inf)
  here <- at(theta)
  best <- list(deviance = here - gain, theta = NULL)
  first <- 0
  for (columns in fit@cnms) {
    k <- length(columns)
    places <- first + seq_len(k * (k + 1) / 2)
    first <- max(places)
    L <- matrix(0, k, k)
    L[lower.tri(L, TRUE)] <- theta[places]
    parts <- eigen(tcrossprod(L), symmetric = TRUE)
    root <- parts$vectors %*% diag(sqrt(pmax(parts$values, 0)), k)
    flat <- which(parts$values < 1e-6 * max(parts$values, 1e-2))
    # theta where a direction v of length `size` is added to column j of the covariance's root.
    moved <- function(v, j, size) {
      root[, j] <- root[, j] + size * v
      lower <- t(qr.R(qr(t(root))))
      lower <- lower %*% diag(ifelse(diag(lower) < 0, -1, 1), k)
      replace(theta, places, lower[lower.tri(lower, TRUE)])
    }
    try <- function(v, j, size) {
      other <- moved(v, j, size)
      deviance <- at(other)
      if (is.finite(deviance) && deviance < best$deviance) {
        best <<- list(deviance = deviance, theta = unname(other))
      }
      deviance - here
    }
    V <- parts$vectors[, flat, drop = FALSE]
    if (length(flat) > 1) V <- V %*% steepest(V, function(v) try(v, flat[1], 3e-3) / 3e-3^2)
    for (i in seq_len(ncol(V))) for (size in 10^seq(-3, -0.5, 0.5)) {
      try(V[, i], flat[1], size)
      for (j in setdiff(seq_len(k), flat)) for (sign in c(-1, 1)) try(V[, i], j, sign * size)
    }
  }
  best$theta
}

# The eigenvectors of the quadratic form `change`(v) for v spanned by the columns of V.
steepest <- function(V, change) {
  f <- ncol(V)
  G <- diag(vapply(seq_len(f), function(i) change(V[, i]), 0), f)
  for (i in seq_len(f)) for (j in seq_len(i - 1)) {
    G[i, j] <- G[j, i] <- change((V[, i] + V[, j]) / sqrt(2)) - (G[i, i] + G[j, j]) / 2
  }
  if (all(is.finite(G))) eigen(G, symmetric = TRUE)$vectors else diag(1, f)
}

# The covariance of the fixed effects. For a generalised model near a bound it is that given theta,
# since there is no Hessian by differences.
covariance_of <- function(fit) {
  hessian <- fit@optinfo$derivs$Hessian
  if (isGLMM(fit) && !is.null(hessian) && any(diag(hessian) == 0)) {
    as.matrix(vcov(fit, use.hessian = FALSE))
  } else {
    as.matrix(vcov(fit))
  }
}

summarise <- function(fit) {
  variances <- VarCorr(fit)
  modes <- ranef(fit, condVar = FALSE)
  covariance <- covariance_of(fit)
  list(
    fixed = fixef(fit),
    se = sqrt(diag(covariance)),
    covariance = as.numeric(covariance),
    theta = getME(fit, "theta"),
    sigma = sigma(fit),
    loglik = as.numeric(logLik(fit)),
    singular = isSingular(fit),
    groups = names(fit@cnms),
    columns = fit@cnms,
    sd = lapply(variances, function(v) attr(v, "stddev")),
    correlation = lapply(variances, function(v) attr(v, "correlation")),
    modes = lapply(modes, as.matrix),
    messages = as.character(unlist(fit@optinfo$conv$lme4$messages)),
    code = as.integer(unlist(c(fit@optinfo$conv$lme4$code, 0L))[1]),
    optimiser = as.integer(fit@optinfo$conv$opt)
  )
}

terms_of_fit <- function(fit) list(groups = names(fit@cnms), columns = fit@cnms)

# Gradient and Hessian of the deviance at the optimum, by lme4's differences, with the parameters
# (theta, and the fixed effects of a generalised model) and their lower bounds; empty if unknown.
derivatives <- function(fit) {
  found <- fit@optinfo$derivs
  at <- getME(fit, "theta")
  lower <- getME(fit, "lower")
  more <- length(found$gradient) - length(at)
  if (is.null(found) || anyNA(found$gradient) || anyNA(found$Hessian)) {
    return(list(numeric(), numeric(), numeric(), numeric()))
  }
  list(as.numeric(found$gradient), as.numeric(found$Hessian), c(at, rep(0, more)),
       c(lower, rep(-Inf, more)))
}

# Predictions of the mean for new data; random effects of new levels are 0.
predicted <- function(fit, data, random) {
  as.numeric(predict(fit, data, re.form = if (random) NULL else NA, allow.new.levels = TRUE,
                     type = "response"))
}

fitted_of <- function(fit) list(as.numeric(fitted(fit)), as.numeric(getME(fit, "y")))

serialized <- function(fit) serialize(fit, NULL)

unserialized <- function(written) unserialize(written)

# Limits of the intervals: a matrix with a row per parameter.
intervals <- function(fit, method, level, draws, seed) {
  arguments <- list(fit, method = method, level = level, oldNames = FALSE)
  if (method == "boot") arguments <- c(arguments, nsim = draws, seed = seed)
  table <- do.call(confint, arguments)
  structure(table, dimnames = list(rownames(table), NULL))
}

simulated <- function(fit, n, seed, new_effects) {
  as.matrix(simulate(fit, nsim = n, seed = seed, use.u = !new_effects))
}
