"""Correlations over few units, such as LMs, and tests of two correlations that share a variable."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Correlation:
    """A coefficient, its two-sided p value and the number of pairs; NaN for fewer than three."""

    value: float
    p: float
    n: int


def correlation(a: Sequence[float], b: Sequence[float], ranks: bool = True) -> Correlation:
    """Return Spearman's ρ, or Pearson's r without `ranks`, of the pairs that have both values."""
    from scipy import stats

    a, b = np.asarray(a, float), np.asarray(b, float)
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return Correlation(math.nan, math.nan, len(a))
    result = (stats.spearmanr if ranks else stats.pearsonr)(a, b)
    return Correlation(float(result.statistic), float(result.pvalue), len(a))


def steiger(r_ab: float, r_ac: float, r_bc: float, n: int) -> tuple[float, float]:
    """Test whether r_ab and r_ac differ; return t (n − 3 degrees of freedom) and its two-sided p.

    Williams's t for two dependent correlations of the same a over the same n units, as Steiger
    (1980, equation 7) recommends. Positive t: a correlates more with b than with c.
    """
    from scipy.stats import t as student

    if n < 4:
        return math.nan, math.nan
    determinant = 1 - r_ab**2 - r_ac**2 - r_bc**2 + 2 * r_ab * r_ac * r_bc
    mean = (r_ab + r_ac) / 2
    below = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r_bc) ** 3
    if below <= 0:
        return math.nan, math.nan
    t = (r_ab - r_ac) * math.sqrt((n - 1) * (1 + r_bc) / below)
    return t, float(2 * student.sf(abs(t), n - 3))
