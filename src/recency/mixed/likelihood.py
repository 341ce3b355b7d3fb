"""Log-likelihoods of observations under a fitted model, given its random effects or without them.

Both take the fit's fixed effects, variances and residual sd as they are: nothing is fitted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from recency.mixed.formula import column
from recency.mixed.levels import Levels, joined


def conditional(residuals: np.ndarray, sigma: float) -> float:
    """Return log N(residuals; 0, sigma^2), residuals (n,) from predictions with random effects."""
    n = len(residuals)
    return float(-0.5 * (n * np.log(2 * np.pi * sigma**2) + residuals @ residuals / sigma**2))


def contributions(residuals: np.ndarray, sigma: float) -> np.ndarray:
    """Return each observation's part (n,) of `conditional`."""
    return -0.5 * (np.log(2 * np.pi * sigma**2) + residuals**2 / sigma**2)


def marginal(
    residuals: np.ndarray,
    fit: Mapping[str, Any],
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
) -> float:
    """Return log N(residuals; 0, Z S Z' + sigma^2 I), residuals (n,) from the fixed part alone.

    Every level is drawn anew from the fitted variances, so a level's observations count together.
    Exact, by Woodbury's identity on cross-products: with S = sigma^2 Lambda Lambda' and
    P = (Z Lambda)'Z Lambda + I, |Z S Z'/sigma^2 + I| = |P| and its inverse is
    I - Z Lambda P^-1 (Z Lambda)'.
    """
    n, sigma = len(residuals), fit["sigma"]
    if not fit["random"]:
        return conditional(residuals, sigma)
    design = sparse.hstack(
        [
            _z_lambda(spread, sigma, predictors, joined(name, groups), n)
            for name, spread in sorted(fit["random"].items())
        ],
        format="csr",
    )
    P = (design.T @ design + sparse.identity(design.shape[1])).tocsc()
    # P is symmetric and positive definite: no pivoting, and the factor's diagonal is its pivots.
    factor = splu(
        P, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    log_determinant = np.log(np.abs(factor.U.diagonal())).sum()
    projected = design.T @ residuals
    r2 = residuals @ residuals - projected @ factor.solve(projected)
    return float(-0.5 * (n * np.log(2 * np.pi * sigma**2) + log_determinant + r2 / sigma**2))


def _z_lambda(
    spread: Mapping[str, Any],
    sigma: float,
    predictors: Mapping[str, np.ndarray],
    group: Levels,
    n: int,
) -> sparse.csr_array:
    """Return Z Lambda (n, levels * k) of one grouping variable."""
    terms, sd = spread["terms"], np.array(spread["sd"]) / sigma
    # The correlation beside a zero sd is undefined (null) and counts for nothing.
    correlation = np.nan_to_num(np.array(spread["correlation"], dtype=float))
    values, vectors = np.linalg.eigh(sd[:, None] * correlation * sd)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    k = len(terms)
    entries = np.column_stack([column(term, predictors, n) for term in terms]) @ root
    columns = group.codes[:, None] * k + np.arange(k)
    return sparse.csr_array(
        (entries.ravel(), columns.ravel(), np.arange(0, n * k + 1, k)),
        shape=(n, len(group.names) * k),
    )
