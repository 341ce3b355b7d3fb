"""Z_a'Z_b of two crossed factors, and what the deviance needs of it.

Factor a has G levels and i columns, factor b H levels and j columns, K = H j.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

AT_ONCE = 4_000_000
"""Elements of Z_a'Z_b that are turned at once."""


@dataclass
class Dense:
    """Z_a'Z_b whole, (G, i, K)."""

    values: np.ndarray

    def gram(self, T: np.ndarray) -> np.ndarray:
        """Return M'M (K, K), where M = T Z_a'Z_b level by level and T is (G, i, i)."""
        total = None
        for levels in self._parts():
            M = T[levels] @ self.values[levels]
            M = M.reshape(len(M) * M.shape[1], M.shape[2])
            total = M.T @ M if total is None else np.add(total, M.T @ M, out=total)
        return total

    def left(self, by_level: np.ndarray) -> np.ndarray:
        """Return Z_b'Z_a v (K, q) for v (G, i, q)."""
        G, i, K = self.values.shape
        return self.values.reshape(G * i, K).T @ by_level.reshape(G * i, by_level.shape[2])

    def dot(self, v: np.ndarray) -> np.ndarray:
        """Return Z_a'Z_b v (G, i) for v (K,)."""
        return self.values @ v

    def quadratic(self, U: np.ndarray) -> np.ndarray:
        """Return Z_a'Z_b U Z_b'Z_a by level (G, i, i), for symmetric U (K, K)."""
        G, i, K = self.values.shape
        found = np.empty((G, i, i))
        for levels in self._parts():
            values = self.values[levels]
            turned = (values.reshape(len(values) * i, K) @ U).reshape(values.shape)
            found[levels] = turned @ values.transpose(0, 2, 1)
        return found

    def _parts(self) -> Iterator[slice]:
        G, i, K = self.values.shape
        step = max(1, AT_ONCE // max(1, i * K))
        yield from (slice(start, start + step) for start in range(0, max(G, 1), step))
