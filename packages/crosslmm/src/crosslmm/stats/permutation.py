"""Paired permutation tests of two models' losses."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from crosslmm import plugins
from crosslmm.errors import InputError

MEAN = "mean"
"""The default test statistic."""
OCTETS = 4096
"""Tables of signed sums that are built at once (8 MB)."""


@dataclass(frozen=True)
class PermutationTest:
    """The result of a paired test."""

    difference: float
    """mean loss of a minus mean loss of b, in the losses' unit"""
    p: float
    """two-sided, (hits + 1) / (permutations + 1)"""
    permutations: int


def permutation_test(
    a: Sequence[float],
    b: Sequence[float],
    *,
    cluster: Sequence[Any] | None = None,
    permutations: int = 10_000,
    seed: int = 0,
    statistic: str = MEAN,
) -> PermutationTest:
    """Test whether two models' losses of the same observations differ on average.

    Under the null hypothesis the two are exchangeable: a permutation swaps them at random in each
    observation or, with `cluster`, in all observations of a cluster (a subject, a sentence) together,
    which keeps the dependence within clusters. scipy.stats.permutation_test takes 190 times as long
    (149 s of CPU time, not 0.8 s, for 10,000 permutations of 100,000 pairs) and has no clusters.

    Parameters
    ----------
    a, b : sequence of float, shape (n,)
        Losses, such as squared errors, observation by observation.
    cluster : sequence, shape (n,)
        The cluster of each observation.
    permutations : int
        Number of permutations.
    seed : int
        Of the permutations.
    statistic : str
        "mean", or "studentised" (the mean difference divided by its cluster-robust standard error), or one
        of another package.

    Returns
    -------
    PermutationTest
        Difference of the means and two-sided p.

    Raises
    ------
    InputError
        If lengths differ, a value is missing, or there is only one cluster.

    Examples
    --------
    >>> permutation_test([3.1, 2.4, 5.0, 4.2, 3.3, 2.9], [2.0, 2.1, 3.9, 3.8, 2.2, 2.5])
    PermutationTest(difference=0.73..., p=0.03..., permutations=10000)
    >>> a, b = [3.1, 2.4, 5.0, 4.2], [2.0, 2.1, 3.9, 3.8]
    >>> permutation_test(a, b, cluster=["s1", "s1", "s2", "s2"], permutations=999).p > 0.4
    True
    """
    losses = [_numbers(name, values) for name, values in (("a", a), ("b", b))]
    if len(losses[0]) != len(losses[1]) or not len(losses[0]):
        raise InputError(
            f"a has {len(losses[0])} losses and b {len(losses[1])}: a paired test needs both of "
            "each observation"
        )
    if permutations < 1:
        raise InputError(f"permutations is {permutations} and must be 1 or more")
    codes = None
    if cluster is not None:
        codes, names = pd.factorize(np.asarray(cluster))
        if len(codes) != len(losses[0]) or (codes < 0).any():
            raise InputError(
                f"cluster has {(codes >= 0).sum()} values for {len(losses[0])} observations; give "
                "one for each"
            )
        if len(names) < 2:
            raise InputError(f"there is one cluster, {str(names[0])!r}: it can show no difference")
    differences = losses[0] - losses[1]
    p = permutation_p(differences, permutations, seed, codes, statistic=statistic)
    return PermutationTest(float(differences.mean()), p, permutations)


def permutation_p(
    differences: np.ndarray,
    permutations: int,
    seed: int,
    clusters: np.ndarray | None = None,
    by_seed: np.ndarray | None = None,
    statistic: str = MEAN,
) -> float:
    """Return the two-sided p value, (hits + 1) / (permutations + 1), of a statistic.

    Parameters
    ----------
    differences : ndarray (n,)
        Differences of two models' losses.
    permutations, seed : int
        A permutation flips the sign of each difference at random, or of a cluster's together.
    clusters : ndarray (n,), optional
        The cluster of each difference.
    by_seed : ndarray (S,), optional
        `statistic_of` the differences of each of S trainings; `differences` are their means. The
        uncertainty of the mean over new trainings is added to each permuted value: t with S - 1
        degrees of freedom times the standard error.
    statistic : str
        A module of crosslmm.stats.statistics or of another package.
    """
    module, totals, sizes = _prepare_clusters(differences, clusters, statistic)
    columns = module.columns(totals, sizes)
    random = np.random.default_rng(seed)
    values = module.value(_signed_sums(columns, permutations, random), totals, sizes)
    # Sums that are equal up to rounding count as hits.
    least = [c.sum() for c in columns]
    least = [np.sign(s) * max(abs(s) - 1e-12 * np.abs(c).sum(), 0) for s, c in zip(least, columns)]
    limit = abs(module.value(least, totals, sizes))
    if by_seed is not None and len(by_seed) > 1:
        error = np.std(by_seed, ddof=1) / np.sqrt(len(by_seed))
        values = values + error * random.standard_t(len(by_seed) - 1, permutations)
    hits = int((np.abs(values) >= limit).sum())
    return (hits + 1) / (permutations + 1)


def statistic_of(
    differences: np.ndarray, clusters: np.ndarray | None = None, statistic: str = MEAN
) -> float:
    """Return a statistic of differences (n,), in `clusters` (n,) if given."""
    module, totals, sizes = _prepare_clusters(differences, clusters, statistic)
    sums = [column.sum() for column in module.columns(totals, sizes)]
    return float(module.value(sums, totals, sizes))


def _prepare_clusters(
    differences: np.ndarray, clusters: np.ndarray | None, statistic: str
) -> tuple[ModuleType, np.ndarray, np.ndarray]:
    """Return the module of a statistic, and the total and the size of each cluster (clusters,)."""
    module = plugins.load("crosslmm.stats.statistics", statistic)
    if clusters is None:
        return module, differences, np.ones(len(differences))
    codes = np.unique(clusters, return_inverse=True)[1]
    return module, np.bincount(codes, differences), np.bincount(codes).astype(np.float64)


def _signed_sums(
    columns: Sequence[np.ndarray], permutations: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Return the sums (permutations,) of each column (clusters,) under random cluster signs.

    Each byte of random bits holds eight signs, and every eight terms have a table of their 256
    signed sums, so a permutation costs clusters / 8 look-ups per column.
    """
    octets = -(-len(columns[0]) // 8)
    padded = np.zeros((len(columns), octets * 8))
    padded[:, : len(columns[0])] = columns
    signs = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    sums = [np.zeros(permutations) for _ in columns]
    for start in range(0, octets, OCTETS):
        parts = padded[:, start * 8 : (start + OCTETS) * 8]
        tables = [part.reshape(-1, 8) @ signs.T for part in parts]
        for of_octet in zip(*tables, strict=True):
            drawn = np.frombuffer(random.bytes(permutations), dtype=np.uint8)
            for total, table in zip(sums, of_octet, strict=True):
                total += table[drawn]
    return sums


def _numbers(name: str, values: Sequence[float]) -> np.ndarray:
    losses = np.asarray(values, dtype=np.float64)
    odd = np.flatnonzero(~np.isfinite(losses.ravel()))
    if losses.ndim != 1 or len(odd):
        what = f"{losses.ravel()[odd[0]]} at index {odd[0]}" if len(odd) else f"{losses.ndim} axes"
        raise InputError(f"{name} has {what}; losses are a sequence of numbers")
    return losses
