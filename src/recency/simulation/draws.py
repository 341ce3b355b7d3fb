"""Fast random choices for one story: uniform numbers are drawn in blocks."""

from bisect import bisect
from functools import cache
from itertools import accumulate
from typing import TypeVar

import numpy as np

BLOCK = 2048
Item = TypeVar("Item")


@cache
def _zipf(n: int) -> list[float]:
    """Return cumulative probabilities of ranks 1 to n, each proportional to 1 / rank."""
    weights = [1 / rank for rank in range(1, n + 1)]
    return [total / sum(weights) for total in accumulate(weights)][:-1]


class Draws:
    """A stream of choices; equal seeds and streams give equal choices on all systems."""

    def __init__(self, *seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._pool: list[float] = []

    def uniform(self) -> float:
        """Draw a number in [0, 1)."""
        if not self._pool:
            self._pool = self._generator.random(BLOCK).tolist()
        return self._pool.pop()

    def chance(self, probability: float) -> bool:
        """Draw an event with this probability."""
        return self.uniform() < probability

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from low to high, both included."""
        return low + int(self.uniform() * (high - low + 1))

    def any(self, items: list[Item]) -> Item:
        """Draw one item, all equally likely."""
        return items[int(self.uniform() * len(items))]

    def zipf(self, items: list[Item]) -> Item:
        """Draw one item with probability proportional to 1 / rank."""
        return items[bisect(_zipf(len(items)), self.uniform())]
