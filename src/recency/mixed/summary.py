"""The reported summary of a fitted model, whichever engine computed it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Predictive:
    """Log predictive densities of rows that cannot be computed from the record of a fit."""

    fitted: np.ndarray
    """of the fitted rows (n,), each left out in turn"""
    held_out: Callable[..., np.ndarray]
    """function for other rows (m,): takes scaled predictors, groups and the response"""


@dataclass
class FitSummary:
    """The summary of a fit; `random` and `modes` are by grouping variable."""

    fixed: dict[str, float]
    se: list[float]
    theta: list[float]
    sigma: float
    loglik: float
    singular: bool
    random: dict[str, dict[str, Any]]
    """columns, sd (k,) and correlation (k, k), which is NaN for an effect of sd 0"""
    modes: dict[str, dict[str, list[float]]]
    """the conditional modes of each level, in the order of the columns"""
    messages: list[str]
    converged: bool
    covariance: np.ndarray
    """covariance of the fixed effects' estimates, (p, p)"""
    predictive: Predictive | None = None
