"""Cubic fits of the human score by a metric, adjusted R², and the metric at the originals' score."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.polynomial import Polynomial

DEGREE = 3
#: Metric → whether the fit uses its logarithm (Figure 7.2 has a logarithmic axis).
METRICS = {"perplexity": True, "mean_log_rank": False, "top_1": False}


def fit(x: Sequence[float], score: Sequence[float]) -> tuple[Polynomial | None, float]:
    """Fit a cubic by least squares; return it and R²_adj = 1 − (1 − R²)(N − 1)/(N − k − 1), k = 3.

    Returns None and NaN with fewer than five points or four distinct values of `x`.
    """
    x, score = np.asarray(x, float), np.asarray(score, float)
    if len(x) < DEGREE + 2 or len(np.unique(x)) <= DEGREE or np.ptp(score) == 0:
        return None, math.nan
    curve = Polynomial.fit(x, score, DEGREE)
    share = ((score - curve(x)) ** 2).sum() / ((score - score.mean()) ** 2).sum()
    return curve, 1 - share * (len(x) - 1) / (len(x) - DEGREE - 1)


def level(curve: Polynomial, human: float, best: float) -> float:
    """Return where a cubic reaches the originals' score `human`, or NaN.

    With several crossings this is the one nearest to `best`, the metric of the LM with the highest
    score.
    """
    roots = (curve - human).roots()
    real = roots[np.abs(roots.imag) < 1e-7].real
    return float(real[np.abs(real - best).argmin()]) if len(real) else math.nan
