"""Centring and scaling of predictors by the statistics of the data that a model is fitted to."""

from collections.abc import Mapping

import numpy as np


def scaling_of(predictors: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return mean and sample standard deviation of each predictor; a constant keeps sd 1."""
    scaling = {}
    for name, values in predictors.items():
        sd = float(values.std(ddof=1)) if np.ptp(values) > 0 else 1.0
        scaling[name] = {"mean": float(values.mean()), "sd": sd}
    return scaling


def scaled(
    predictors: Mapping[str, np.ndarray], scaling: Mapping[str, Mapping[str, float]]
) -> dict[str, np.ndarray]:
    """Centre and scale the predictors with the statistics of the data that were fitted."""
    return {
        name: (predictors[name] - by["mean"]) / by["sd"] for name, by in sorted(scaling.items())
    }
