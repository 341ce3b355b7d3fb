"""Binomial and Poisson models of random designs by lme4's glmer(), which test_generalised.py compares.

    python packages/crosslmm/tests/reference_glmer.py

needs R with lme4 1.1.31 and numDeriv. Standard errors are those of the deviance's Hessian by
extrapolated differences, of two sizes, and stored where these agree to 3e-5: lme4's deviance has
errors where its inner loop stops early. With `points`, quadrature.
"""

import json
from pathlib import Path

import numpy as np

from crosslmm import lme4
from random_designs import Design, draw
from test_lmer import in_r

FILE = Path(__file__).with_name("glmer.json")
SEEDS = range(60)
POINTS = 9
SOURCE = """
function(formula, data, family, points) {
  control <- glmerControl("bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5), tolPwrss = 1e-13,
                          calc.derivs = FALSE, check.conv.singular = "ignore")
  formula <- as.formula(formula, env = environment())
  run <- function(only) suppressWarnings(glmer(formula, data, family = family, control = control,
                                               nAGQ = points, devFunOnly = only))
  fit <- run(FALSE)
  deviance <- run(TRUE)
  start <- c(getME(fit, "theta"), fixef(fit))
  q <- length(getME(fit, "theta"))
  lower <- c(getME(fit, "lower"), rep(-Inf, length(fixef(fit))))
  better <- nlminb(start, deviance, lower = lower, control = list(rel.tol = 1e-14, x.tol = 1e-12))
  x <- better$par
  size <- c(rep(0.2, q), sqrt(diag(as.matrix(vcov(fit, use.hessian = FALSE)))))
  errors <- function(eps) {
    hessian <- numDeriv::hessian(function(z) deviance(x + z * size), 0 * x,
                                 method.args = list(eps = eps, r = 4)) / outer(size, size)
    covariance <- tryCatch(2 * solve(hessian), error = function(e) NA * hessian)
    suppressWarnings(sqrt(diag(covariance)))[-(1:q)]
  }
  se <- errors(0.5)
  certain <- all((x - lower)[seq_len(q)][lower[seq_len(q)] == 0] > 0.11) &&
    isTRUE(max(abs(errors(0.35) / se - 1)) < 3e-5)
  # By quadrature lme4's log-likelihood is relative to a saturated model's.
  saturated <- if (points > 1 && family == "poisson") sum(dpois(data$y, data$y, log = TRUE)) else 0
  loglik <- as.numeric(logLik(fit)) - (better$objective - deviance(start)) / 2 + saturated
  list(x[-(1:q)], se, loglik, x[1:q], certain)
}
"""


def designs() -> list[Design]:
    """Return the designs whose formulas R reads as they are."""
    every = [draw(seed, family) for family in ("binomial", "poisson") for seed in SEEDS]
    return [d for d in every if "0 +" not in d.formula and "I(" not in d.formula]


def main() -> None:
    """Write the figures as JSON."""
    lme4.start()
    from rpy2 import robjects

    reference, records = robjects.r(SOURCE), []
    for design in designs():
        offset = " + offset(o)" if "offset" in design.options else ""
        single = design.formula.endswith("+ (1 | g)")
        for points in (1, POINTS) if single else (1,):
            values = reference(design.formula + offset, in_r(design.data), design.family, points)
            fixed, se, (loglik,), theta, (certain,) = map(np.array, values)
            records.append(
                {
                    "seed": design.seed,
                    "family": design.family,
                    "points": points,
                    "fixed": fixed.tolist(),
                    "loglik": float(loglik),
                    "theta": theta.tolist(),
                    "se": se.tolist() if certain else None,
                }
            )
    FILE.write_text(json.dumps(records, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
