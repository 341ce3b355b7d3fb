# The part of a Bayesian model that runs in R: a call of brm(), and summaries of its draws.
suppressPackageStartupMessages(library(brms))

# Debian's package BH has no headers of its own; Boost's are in the system's folder.
if (!nzchar(system.file("include", package = "BH")) && file.exists("/usr/include/boost/version.hpp")) {
  rstan::rstan_options(boost_lib = "/usr/include")
}

# `priors` is a data frame of set_prior()'s arguments, possibly empty; `scale` is a formula or NULL.
bayesian_priors <- function(priors) {
  result <- empty_prior()
  for (i in seq_len(nrow(priors))) {
    row <- lapply(priors[i, ], as.character)
    result <- result + set_prior(row$prior, row$class, row$coef, row$group, dpar = row$dpar)
  }
  result
}

fit_bayesian <- function(formula, scale, data, family, link, priors, chains, iterations, warmup,
                         seed, cores) {
  whole <- if (is.null(scale)) bf(formula) else bf(formula, scale)
  brm(whole, data, family = brmsfamily(family, link), prior = bayesian_priors(priors),
      chains = chains, iter = iterations, warmup = warmup, seed = seed, cores = cores, refresh = 0,
      open_progress = FALSE)
}

# Draws of parameters that are not effects of a formula, one per column: sigma, shape, beta, ndt.
draws_of <- function(fit, names) {
  there <- intersect(names, variables(fit))
  if (!length(there)) return(matrix(0, ndraws(fit), 0, dimnames = list(NULL, character())))
  as.matrix(as_draws_matrix(fit, variable = there))
}

random_of_bayesian <- function(fit) {
  if (!length(fit$ranef$group)) return(list())
  spread <- VarCorr(fit)
  modes <- ranef(fit)
  lapply(names(modes), function(group) {
    of <- spread[[group]]
    columns <- rownames(of$sd)
    correlation <- diag(length(columns))
    if (!is.null(of$cor)) correlation <- of$cor[columns, "Estimate", columns]
    diag(correlation) <- 1
    estimates <- modes[[group]]
    list(group = group, columns = columns, sd = as.numeric(of$sd[, "Estimate"]),
         correlation = as.numeric(correlation), levels = dimnames(estimates)[[1]],
         modes = as.numeric(estimates[, "Estimate", columns]))
  })
}

summarise_bayesian <- function(fit) {
  draws <- fixef(fit, summary = FALSE)
  sampler <- nuts_params(fit, pars = "divergent__")
  parameters <- draws_of(fit, c("sigma", "shape", "beta", "ndt"))
  prior <- prior_summary(fit)
  prior <- prior[nzchar(prior$prior), ]
  list(
    fixed = colnames(draws),
    estimates = colMeans(draws),
    se = apply(draws, 2, sd),
    low = apply(draws, 2, quantile, 0.025),
    high = apply(draws, 2, quantile, 0.975),
    covariance = as.numeric(cov(draws)),
    random = random_of_bayesian(fit),
    parameters = as.character(colnames(parameters)),
    means = colMeans(parameters),
    logs = colMeans(log(parameters)),
    rhat = max(rhat(fit), na.rm = TRUE),
    ess = min(neff_ratio(fit), na.rm = TRUE) * ndraws(fit),
    divergences = sum(sampler$Value),
    draws = ndraws(fit),
    priors = lapply(c("prior", "class", "coef", "group", "dpar"), function(n) as.character(prior[[n]]))
  )
}

# PSIS-LOO: elpd and Pareto k of each row, and the sums with their standard errors.
loo_of <- function(fit) {
  result <- suppressWarnings(loo(fit))
  list(elpd = as.numeric(result$pointwise[, "elpd_loo"]),
       k = as.numeric(result$diagnostics$pareto_k),
       estimates = as.numeric(result$estimates[c("elpd_loo", "p_loo"), ]))
}

# The log of the mean density (n,) of new rows over draws; effects of new levels are drawn from their
# distribution. Computed in pieces, since draws x rows may exceed the memory.
predictive_density <- function(fit, data, seed, size = 2000) {
  set.seed(seed)
  pieces <- split(seq_len(nrow(data)), (seq_len(nrow(data)) - 1) %/% size)
  as.numeric(unlist(lapply(pieces, function(rows) {
    values <- log_lik(fit, newdata = data[rows, , drop = FALSE], allow_new_levels = TRUE,
                      sample_new_levels = "gaussian")
    apply(values, 2, function(v) max(v) + log(mean(exp(v - max(v)))))
  })))
}
