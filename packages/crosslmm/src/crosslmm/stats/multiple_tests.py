"""Correction of p values for multiple tests."""

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Correct p values for their number by Holm's step-down method.

    Parameters
    ----------
    p : sequence of float
        p values; NaN stays NaN, uncounted.

    Returns
    -------
    list of float
        Corrected p values, in the same order.

    Examples
    --------
    >>> [round(value, 3) for value in holm([0.01, 0.04, float("nan"), 0.03])]
    [0.03, 0.06, nan, 0.06]
    """
    from statsmodels.stats.multitest import multipletests  # 0.6 s, and few jobs ask for it

    corrected = np.array(p, dtype=float)
    tested = np.isfinite(corrected)
    if tested.any():
        corrected[tested] = multipletests(corrected[tested], method="holm")[1]
    return [float(value) for value in corrected]
