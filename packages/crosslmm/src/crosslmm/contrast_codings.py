"""Contrast codings, as R's contr.treatment(), contr.sum(), contr.helmert(), MASS's contr.sdif()."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Coding:
    """Contrasts of a categorical column: R's label of each, and its value at each level."""

    labels: tuple[str, ...]
    values: np.ndarray
    """(levels, levels - 1)"""

    def comparisons(self) -> np.ndarray:
        """Return the weights (levels - 1, levels) of level means that the coefficients estimate."""
        k = len(self.values)
        return np.linalg.inv(np.column_stack([np.ones(k), self.values]))[1:]


def treatment(levels: Sequence[str]) -> Coding:
    """Compare each level with the first one."""
    return Coding(tuple(levels[1:]), np.eye(len(levels))[:, 1:])


def deviation(levels: Sequence[str]) -> Coding:
    """Compare each level but the last one with the mean of all levels."""
    k = len(levels)
    values = np.vstack([np.eye(k - 1), -np.ones(k - 1)])
    return Coding(_numbered(k), values)


def helmert(levels: Sequence[str]) -> Coding:
    """Compare each level but the first one with the mean of those before it."""
    k = len(levels)
    values = np.zeros((k, k - 1))
    for c in range(k - 1):
        values[: c + 1, c], values[c + 1, c] = -1, c + 1
    return Coding(_numbered(k), values)


def backward_difference(levels: Sequence[str]) -> Coding:
    """Compare each level with the one before it."""
    k = len(levels)
    row, column = np.arange(1, k + 1)[:, None], np.arange(1, k)
    values = (column - k * (row <= column)) / k
    return Coding(tuple(f"{b}-{a}" for a, b in itertools.pairwise(levels)), values)


def _numbered(k: int) -> tuple[str, ...]:
    return tuple(str(c) for c in range(1, k))


CODINGS: dict[str, Callable[[Sequence[str]], Coding]] = {
    "treatment": treatment,
    "sum": deviation,
    "helmert": helmert,
    "backward_difference": backward_difference,
}
