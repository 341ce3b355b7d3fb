"""Bootstrap intervals of sums over observations, resampling subjects or sentences."""

import math
from collections.abc import Sequence

import numpy as np

BLOCK = 4_000_000
"""Elements of the counts that are drawn at once (32 MB)."""


def interval(
    contributions: np.ndarray,
    clusters: np.ndarray,
    replicates: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return the percentile interval of a sum over clusters.

    A resample has as many clusters as there are, drawn with replacement, each with all of its
    observations.

    Parameters
    ----------
    contributions : array, shape (n,)
        What each observation adds to the sum.
    clusters : array, shape (n,)
        The cluster of each observation.
    replicates : int
        Number of resamples.
    seed : int
        Of the resamples.
    level : float
        Coverage.

    Returns
    -------
    tuple of float
        The ends; NaN if there are fewer than two clusters.
    """
    drawn = draws(cluster_sums(contributions, clusters)[:, None], replicates, seed)
    return percentiles(drawn[:, 0], level)


def cluster_sums(contributions: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Sum the contributions of each cluster, in the clusters' sorted order."""
    _, codes = np.unique(clusters, return_inverse=True)
    return np.bincount(codes, contributions)


def draws(sums: np.ndarray, replicates: int, seed: int | Sequence[int]) -> np.ndarray:
    """Resample clusters; return the totals (replicates, k) of `sums` (clusters, k).

    All k columns share the draws, so a difference of columns is a paired one. NaN if there are
    fewer than two clusters, and in a column that has a NaN.
    """
    many, columns = sums.shape
    if many < 2:
        return np.full((replicates, columns), math.nan)
    finite = np.isfinite(sums).all(0)
    finite_sums = np.where(finite, sums, 0.0)
    random = np.random.default_rng(seed)
    share = np.full(many, 1 / many)
    drawn, step = np.empty((replicates, columns)), max(1, BLOCK // many)
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        drawn[start : start + size] = random.multinomial(many, share, size) @ finite_sums
    drawn[:, ~finite] = math.nan
    return drawn


def percentiles(drawn: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of drawn totals (replicates,); NaN if one is missing."""
    if not np.isfinite(drawn).all():
        return math.nan, math.nan
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def largest_t(
    drawn: np.ndarray,
    pairs: Sequence[tuple[int, int]],
    level: float = 0.95,
    spreads: Sequence[float] | None = None,
) -> float:
    """Return the critical value of simultaneous intervals of differences, in standard errors.

    `drawn` (replicates, k) are totals from the same draws, and `pairs` are pairs of their columns.
    The value is the quantile of the largest |t| over the pairs (Romano & Wolf 2005). Pairs with the
    same total in every draw have no t; NaN if no pair has one. `spreads` are the pairs' standard
    errors if they differ from the standard deviations of the draws.
    """
    largest = np.zeros(len(drawn))
    for number, (a, b) in enumerate(pairs):
        difference = drawn[:, a] - drawn[:, b]
        spread = difference.std(ddof=1) if spreads is None else spreads[number]
        if np.isfinite(difference).all() and np.isfinite(spread) and spread > 0:
            # With few seeds the draws may have no finite mean.
            centre = difference.mean() if spreads is None else np.median(difference)
            np.maximum(largest, np.abs(difference - centre) / spread, out=largest)
    return float(np.quantile(largest, level)) if largest.any() else math.nan
