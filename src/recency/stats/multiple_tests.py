"""Correction of p-values where many are taken."""

import math
from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values for their number by Holm's step-down method; NaN stays NaN, uncounted.

    Written out: the same to the last digit as statsmodels' multipletests(), whose import takes a
    job 0.6 s of CPU time beyond pandas and would have to be installed in the environment that
    trains language models (envs/lm.yaml), so that all of them would be trained again.

    >>> [round(value, 3) for value in holm([0.01, 0.04, float("nan"), 0.03])]
    [0.03, 0.06, nan, 0.06]
    """
    tested = sorted((value, index) for index, value in enumerate(p) if not math.isnan(value))
    corrected, largest = [math.nan] * len(p), 0.0
    for rank, (value, index) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * value))
        corrected[index] = largest
    return corrected
