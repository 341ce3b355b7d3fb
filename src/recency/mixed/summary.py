"""What is reported of a fitted model, whoever computed it."""

from dataclasses import dataclass
from typing import Any

import numpy as np


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
