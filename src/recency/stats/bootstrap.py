"""How sure a sum over observations is, when subjects or sentences are drawn anew."""

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
    """Return the percentile interval of the sum of `contributions` (n,), drawing `clusters` (n,).

    As many clusters as there are, are drawn with replacement, each with all of its observations.
    NaN where there are fewer than two clusters.
    """
    drawn = draws(cluster_sums(contributions, clusters)[:, None], replicates, seed)
    return percentiles(drawn[:, 0], level)


def cluster_sums(contributions: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Sum the contributions of each cluster, in the clusters' sorted order."""
    _, codes = np.unique(clusters, return_inverse=True)
    return np.bincount(codes, contributions)


def draws(sums: np.ndarray, replicates: int, seed: int | Sequence[int]) -> np.ndarray:
    """Draw clusters with replacement; return the totals (replicates, k) of `sums` (clusters, k).

    All k columns have the same draws, so a difference of columns is a paired one. NaN where there
    are fewer than two clusters, and in a column that has one.
    """
    many, columns = sums.shape
    if many < 2:
        return np.full((replicates, columns), math.nan)
    finite = np.isfinite(sums).all(0)
    known = np.where(finite, sums, 0.0)
    random = np.random.default_rng(seed)
    share = np.full(many, 1 / many)
    drawn, step = np.empty((replicates, columns)), max(1, BLOCK // many)
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        drawn[start : start + size] = random.multinomial(many, share, size) @ known
    drawn[:, ~finite] = math.nan
    return drawn


def of_few(random: np.random.Generator, many: int, replicates: int) -> np.ndarray:
    """Draw a few things anew, such as seeds; return how much each counts, (replicates, many), 1 together.

    One less is drawn than there are, with replacement: the mean of two or more then has the variance that
    the mean of as many further ones has, where as many draws would have 1 - 1/many of it (Rao & Wu 1988).
    """
    drawn = max(1, many - 1)
    return random.multinomial(drawn, np.full(many, 1 / many), replicates) / drawn


def percentiles(drawn: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of drawn totals (replicates,); NaN where one is missing."""
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
    """Return how many standard errors make the intervals of all differences hold together.

    `drawn` (replicates, k) are totals of the same draws, `pairs` places of two columns. The figure
    is the quantile of the largest |t| of the pairs in a draw (Romano & Wolf 2005): differences of
    more standard errors than this are none by chance alone, all pairs taken together. Pairs that
    no draw tells apart have no t; NaN where that leaves none. `spreads` are the pairs' standard
    errors, where they are not the draws' own.
    """
    largest = np.zeros(len(drawn))
    for place, (a, b) in enumerate(pairs):
        difference = drawn[:, a] - drawn[:, b]
        spread = difference.std(ddof=1) if spreads is None else spreads[place]
        if np.isfinite(difference).all() and np.isfinite(spread) and spread > 0:
            # Of few seeds the draws have no mean worth the name.
            centre = difference.mean() if spreads is None else np.median(difference)
            np.maximum(largest, np.abs(difference - centre) / spread, out=largest)
    return float(np.quantile(largest, level)) if largest.any() else math.nan
