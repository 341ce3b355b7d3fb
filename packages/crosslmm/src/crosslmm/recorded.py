"""Apply the record of a fit (crosslmm.fitting.figures) to rows: scaling and predictions."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from crosslmm.formula import column
from crosslmm.levels import Levels, joined


def scaling_of(predictors: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return mean and sample standard deviation of each predictor; sd 1 for a constant."""
    scaling = {}
    for name, values in predictors.items():
        sd = float(values.std(ddof=1)) if np.ptp(values) > 0 else 1.0
        scaling[name] = {"mean": float(values.mean()), "sd": sd}
    return scaling


def scaled(
    predictors: Mapping[str, np.ndarray], scaling: Mapping[str, Mapping[str, float]]
) -> dict[str, np.ndarray]:
    """Centre and scale predictors with the statistics of the fitted data."""
    return {
        name: (predictors[name] - by["mean"]) / by["sd"] for name, by in sorted(scaling.items())
    }


def fixed_part(fit: Mapping[str, Any], predictors: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """Return X b (n,) for predictors with the fit's scaling."""
    total = np.zeros(n)
    for effect in fit["fixed"]:
        total += effect["estimate"] * column(effect["term"], predictors, n)
    return total


def random_part(
    fit: Mapping[str, Any],
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    n: int,
) -> np.ndarray:
    """Return Z b-hat (n,) with the conditional modes; 0 for new levels."""
    total = np.zeros(n)
    for name, modes in fit["ranef"].items():
        terms = fit["random"][name]["terms"]
        group = joined(name, groups)
        unseen = [0.0] * len(terms)
        table = np.array([modes.get(level, unseen) for level in group.names])
        for index, term in enumerate(terms):
            total += table[group.codes, index] * column(term, predictors, n)
    return total
