"""Checks of a fit's optimum, whichever engine reached it.

First order: the decrease of the deviance that a further step is expected to bring, which depends on
no scale. Where a variance is zero or a correlation one, only steps that keep the covariances
positive semidefinite count. Second order: the curvature in the directions that are free, and the
covariance of the fixed effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosslmm import lme4
from crosslmm.factors import NotSearchable
from crosslmm.internal import Figures, Internal
from crosslmm.scaled_search import AGREEMENT, Searched, evaluate_internal
from crosslmm.theta_search import SINGULAR, TOLERANCE

DEVIANCES = 1e-6
"""Largest difference between the search's deviance and lme4's at the same theta, relative to the
deviance or the number of rows, whichever is larger: on the internal scale a deviance may be 0."""
CLOSE = 1e-5
"""Largest difference, in standard errors, between the search's figures and lme4's at one theta."""
OTHERS = 1e-3
"""Largest decrease of the deviance by a further step, for another optimiser than the search: about
0.03 standard errors of an estimate."""
CONDITION = 1e12
"""Largest condition number of the correlations of the fixed effects' estimates."""
SADDLE = 1e-3
"""Largest negative curvature, relative to the largest positive one, that is treated as rounding."""

FAILED = {
    "gradient": "a step would lower the deviance by {:.2g}",
    "curvature": "the deviance falls in a free direction, with relative curvature -{:.2g}",
    "covariance": "the fixed effects' estimates have correlations of condition number {:.2g}",
    "rows": "residual squares differ by {:.2g} between rows and cross-products",
    "deviance": "the search's deviance and lme4's differ by {:.2g} at the same theta",
    "figures": "the search's figures and lme4's differ by {:.2g} standard errors",
}


@dataclass(frozen=True)
class Check:
    """One check: its name, by whom, its value, and the largest value that passes."""

    name: str
    by: str
    value: float
    limit: float

    @property
    def passed(self) -> bool:
        """Whether the value is within its limit."""
        return bool(self.value <= self.limit)

    def __str__(self) -> str:
        return f"{FAILED[self.name].format(self.value)} (by {self.by}; limit {self.limit:g})"


def deviances_apart(one: float, other: float, rows: int) -> float:
    """Return the relative difference of two deviances."""
    return abs(one - other) / max(abs(other), rows)


def check_covariance(covariance: np.ndarray, by: str) -> list[Check]:
    """Check that the fixed effects' covariance (p, p), on the internal scale, is positive definite."""
    if not len(covariance):
        return []
    sd = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(sd, sd)
    condition = np.inf
    if np.isfinite(correlation).all():
        values = np.linalg.eigvalsh(correlation)
        condition = float(values[-1] / values[0]) if values[0] > 0 else np.inf
    return [Check("covariance", by, condition, CONDITION)]


def check_search(searched: Searched) -> list[Check]:
    """Check the search's optimum and its cross-products."""
    return [
        Check("gradient", "search", max(searched.result.optimum.gain, 0.0), TOLERANCE),
        Check("rows", "search", searched.result.apart, AGREEMENT),
    ]


def check_lme4(model: Internal, fit: object, figures: Figures, by_search: bool) -> list[Check]:
    """Check lme4's own optimum: by the search's derivatives if it covers the model, else by lme4's."""
    if by_search:
        try:
            deviance, gain = evaluate_internal(model, figures.Ls)
        except (NotSearchable, np.linalg.LinAlgError):
            pass
        else:
            apart = deviances_apart(deviance, -2 * figures.loglik, len(model.y))
            return [
                Check("gradient", "search", gain, OTHERS),
                Check("deviance", "search", apart, DEVIANCES),
                *check_covariance(figures.covariance, "lme4"),
            ]
    return [*check_derivatives(fit), *check_covariance(figures.covariance, "lme4")]


def check_derivatives(fit: object) -> list[Check]:
    """Check gradient and curvature of a merMod object by lme4's own numeric derivatives."""
    gradient, hessian, at, lower = lme4.derivatives(fit)
    if not len(gradient):
        return []
    # Near a bound there are no differences.
    free = ~((lower == 0) & (at < SINGULAR)) & (np.diagonal(hessian) != 0)
    if not free.any():
        return [Check("gradient", "lme4", 0.0, OTHERS)]
    gradient, hessian = gradient[free], hessian[np.ix_(free, free)]
    size = np.sqrt(np.maximum(np.abs(np.diagonal(hessian)), 1e-300))
    values, vectors = np.linalg.eigh(hessian / np.outer(size, size))
    along = vectors.T @ (gradient / size)
    positive = values > SADDLE * values[-1]
    gain = float((along[positive] ** 2 / values[positive]).sum() / 2)
    return [
        Check("gradient", "lme4", gain, OTHERS),
        Check("curvature", "lme4", float(max(-values[0] / max(values[-1], 1e-300), 0.0)), SADDLE),
    ]


def check_maximum(gain: float, limit: float, covariance: np.ndarray) -> list[Check]:
    """Check the maximum of Laplace's approximation by its analytic gradient."""
    return [
        Check("gradient", "laplace", 2 * gain, 2 * limit),
        *check_covariance(covariance, "laplace"),
    ]


def failures(checks: Sequence[Check]) -> list[str]:
    """Describe the checks that failed."""
    return [f"not converged: {check}" for check in checks if not check.passed]
