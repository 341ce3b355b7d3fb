"""Ordinary least squares with AIC and BIC: the model without random effects."""

import math
from collections.abc import Mapping

import numpy as np

from crosslmm.families import GAUSSIAN, LINEAR, SHIFTED
from crosslmm.formula import Formula, column
from crosslmm.summary import FitSummary


def fit_least_squares(
    formula: Formula, predictors: Mapping[str, np.ndarray], y: np.ndarray
) -> tuple[FitSummary, list[str]]:
    """Fit y (n,) and return the summary, with sigma by maximum likelihood, and notes.

    Standard errors have n - p degrees of freedom. A column that depends on earlier ones is dropped,
    as in R.
    """
    n = len(y)
    names: list[str] = []
    basis = np.empty((n, 0))
    for name in formula.fixed:
        values = column(name, predictors, n)
        left = values
        for _ in range(2):  # twice, against rounding errors
            left = left - basis @ (basis.T @ left)
        size = np.linalg.norm(left)
        if size > 1e-7 * max(np.linalg.norm(values), np.finfo(float).tiny) and len(names) < n:
            names.append(name)
            basis = np.column_stack([basis, left / size])
    dropped = len(formula.fixed) - len(names)
    notes = [f"{dropped} of the columns depend on others and were dropped"] if dropped else []
    X = np.column_stack([column(name, predictors, n) for name in names])
    R = basis.T @ X
    estimates = np.linalg.solve(R, basis.T @ y)
    rss = float(np.sum((y - X @ estimates) ** 2))
    free = n - len(names)
    inverse = np.linalg.inv(R)
    se = np.sqrt((inverse**2).sum(1) * rss / free) if free else np.full(len(names), math.nan)
    sigma = math.sqrt(rss / n)
    fitted = free > 0 and sigma > 0
    if not fitted:
        notes.append(f"not fitted: {n} words for {len(names)} columns, residual sd {sigma:.3g}")
    summary = FitSummary(
        fixed=dict(zip(names, map(float, estimates), strict=True)),
        se=[float(value) for value in se],
        theta=[],
        sigma=sigma,
        loglik=-n / 2 * (math.log(2 * math.pi * sigma**2) + 1) if fitted else math.nan,
        singular=False,
        random={},
        modes={},
        messages=[],
        converged=fitted,
        covariance=inverse @ inverse.T * rss / free if free else np.full(R.shape, math.nan),
    )
    return summary, notes


def criteria(summary: FitSummary, n: int, family: str = GAUSSIAN) -> dict[str, float]:
    """Return AIC and BIC of a maximum-likelihood fit to n rows, counting parameters as R does.

    The parameters are the fixed effects, theta of a mixed model, sigma of a linear one, and the
    shift of a shifted lognormal one.
    """
    k = len(summary.fixed) + len(summary.theta) + (family in LINEAR) + (family == SHIFTED)
    return {"aic": 2 * k - 2 * summary.loglik, "bic": k * math.log(n) - 2 * summary.loglik}
