"""How sure a sum over observations is, when subjects or sentences are drawn anew."""

from __future__ import annotations

import math

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
    sums = cluster_sums(contributions, clusters)
    many = len(sums)
    if many < 2 or not np.isfinite(sums).all():
        return math.nan, math.nan
    random = np.random.default_rng(seed)
    share = np.full(many, 1 / many)
    drawn, step = np.empty(replicates), max(1, BLOCK // many)
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        drawn[start : start + size] = random.multinomial(many, share, size) @ sums
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def cluster_sums(contributions: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Sum the contributions of each cluster, in the clusters' sorted order."""
    _, codes = np.unique(clusters, return_inverse=True)
    return np.bincount(codes, contributions)
