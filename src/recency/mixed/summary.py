"""What is reported of a fitted model, whoever computed it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Predictive:
    """Log predictive densities of rows, where they are no function of the record of a fit."""

    fitted: np.ndarray
    """of the fitted rows (n,), each left out"""
    held_out: Callable[..., np.ndarray]
    """of other rows (m,): takes scaled predictors, groups and the response"""


@dataclass
class FitSummary:
    """The figures of a fit; `random` and `modes` are by grouping variable."""

    fixed: dict[str, float]
    se: list[float]
    theta: list[float]
    sigma: float
    loglik: float
    singular: bool
    random: dict[str, dict[str, Any]]
    """columns, sd (k,) and correlation (k, k), which is NaN beside a zero sd"""
    modes: dict[str, dict[str, list[float]]]
    """the conditional modes of each level, in the order of the columns"""
    messages: list[str]
    converged: bool
    covariance: np.ndarray
    """of the fixed effects' estimates, (p, p)"""
    predictive: Predictive | None = None
