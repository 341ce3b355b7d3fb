"""Shifted lognormal models: log(y - shift) is Gaussian, the shift estimated by profile likelihood.

The likelihood is unbounded as the shift approaches the smallest response (Hill 1963). As usual, a
local maximum is used, searched from a grid of shifts between 0 and the smallest response.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from crosslmm.errors import InputError

GRID = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97)
"""Shifts at which the likelihood is evaluated first, relative to the smallest response."""
PRECISION = 1e-4
"""Tolerance of the shift, relative to the smallest response."""


def profile_shift(loglik: Callable[[np.ndarray], float], y: np.ndarray) -> tuple[float, str]:
    """Return the shift that maximises the likelihood locally, and a note on it.

    Parameters
    ----------
    loglik
        Maximised log-likelihood of the model for a response z (n,) = log(y - shift).
    y
        Response (n,), above 0.
    """
    smallest = float(y.min())

    def value(share: float) -> float:
        z = np.log(y - share * smallest)
        return loglik(z) - float(z.sum())

    values = [value(share) for share in GRID]
    falling = [i for i in range(len(GRID) - 1) if values[i] > values[i + 1]]
    best = falling[0] if falling else len(GRID) - 1
    if best == len(GRID) - 1:
        return GRID[-1] * smallest, (
            f"the likelihood rises up to a shift of {GRID[-1]:.0%} of the smallest response; the "
            f"shift was set to {GRID[-1] * smallest:.4g}"
        )
    low, high = GRID[max(best - 1, 0)], GRID[best + 1]
    optimum = minimize_scalar(
        lambda share: -value(share),
        bounds=(low, high),
        method="bounded",
        options={"xatol": PRECISION},
    )
    if values[best] > -optimum.fun:
        return GRID[best] * smallest, ""
    return float(optimum.x) * smallest, ""


def check(shift: float, y: np.ndarray) -> None:
    """Raise an InputError if a response is not above the shift."""
    if below := int((y <= shift).sum()):
        raise InputError(
            f"design: shift is {shift:g}, and {below:,} of {len(y):,} responses are not above it, the "
            f"smallest {y.min():g}; take a smaller one, or leave `shift` out to have it estimated"
        )
