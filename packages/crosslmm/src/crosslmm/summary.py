"""The reported summary of a fitted model, whichever engine computed it."""

from dataclasses import dataclass
from typing import Any

import numpy as np


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
