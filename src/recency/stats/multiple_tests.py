"""Correction of p-values where many are taken."""

import math
from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values for their number by Holm's step-down method; NaN stays NaN, uncounted.

    >>> [round(value, 3) for value in holm([0.01, 0.04, float("nan"), 0.03])]
    [0.03, 0.06, nan, 0.06]
    """
    from statsmodels.stats.multitest import multipletests  # 0.6 s of CPU time beyond pandas

    tested = [index for index, value in enumerate(p) if not math.isnan(value)]
    corrected = [math.nan] * len(p)
    if tested:
        values = multipletests([p[index] for index in tested], method="holm")[1]
        for index, value in zip(tested, values, strict=True):
            corrected[index] = float(value)
    return corrected
