"""Correction of p-values where many are taken."""

import math
from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values for their number by Holm's step-down method; NaN stays NaN, uncounted."""
    tested = sorted((value, index) for index, value in enumerate(p) if not math.isnan(value))
    corrected, largest = [math.nan] * len(p), 0.0
    for rank, (value, index) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * value))
        corrected[index] = largest
    return corrected
