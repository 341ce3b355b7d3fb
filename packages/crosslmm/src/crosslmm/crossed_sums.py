"""Z_a'Z_b of two crossed factors, dense or sparse, and the products that the deviance needs.

Factor a has G levels and i columns, factor b H levels and j columns, K = H j. A cell is a pair of
levels that occurs in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

AT_ONCE = 4_000_000
"""Elements of Z_a'Z_b that are multiplied at once."""


@dataclass
class Dense:
    """Dense Z_a'Z_b, (G, i, K)."""

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
        result = np.empty((G, i, i))
        for levels in self._parts():
            values = self.values[levels]
            turned = (values.reshape(len(values) * i, K) @ U).reshape(values.shape)
            result[levels] = turned @ values.transpose(0, 2, 1)
        return result

    def _parts(self) -> Iterator[slice]:
        G, i, K = self.values.shape
        step = max(1, AT_ONCE // max(1, i * K))
        yield from (slice(start, start + step) for start in range(0, max(G, 1), step))


@dataclass
class Sparse:
    """Z_a'Z_b of the C cells, ordered by a's level and then b's; has the methods of Dense."""

    levels: tuple[int, int]
    """G and H"""
    cells: np.ndarray
    """level of a times H plus level of b, (C,), increasing"""
    values: np.ndarray
    """(C, i, j)"""
    a: np.ndarray = field(init=False)
    b: np.ndarray = field(init=False)
    ends: np.ndarray = field(init=False)

    def __post_init__(self):
        G, H = self.levels
        self.a, self.b = np.divmod(self.cells, H)
        self.ends = np.searchsorted(self.a, np.arange(G + 1))

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the dense array, (G, i, H, j)."""
        (G, H), (_, i, j) = self.levels, self.values.shape
        return G, i, H, j

    def whole(self) -> np.ndarray:
        """Return the dense array, (G, i, H, j)."""
        result = np.zeros(self.shape)
        result[self.a, :, self.b] = self.values
        return result

    def select_columns(self, a: Sequence[int], b: Sequence[int]) -> Sparse:
        """Select these columns of Z_a and Z_b."""
        return Sparse(self.levels, self.cells, self.values[:, a][:, :, b])

    def gram(self, T: np.ndarray) -> np.ndarray:
        """See Dense.gram."""
        K = self.shape[2] * self.shape[3]
        total = np.zeros((K, K))
        for level, places, values in self._by_level():
            M = T[level] @ values
            total[places[:, None], places] += M.T @ M
        return total

    def left(self, by_level: np.ndarray) -> np.ndarray:
        """See Dense.left."""
        _, _, H, j = self.shape
        result = np.empty((H, j, by_level.shape[2]))
        for q in range(by_level.shape[2]):
            of_cell = np.einsum("cij,ci->cj", self.values, by_level[self.a, :, q])
            for d in range(j):
                result[:, d, q] = np.bincount(self.b, of_cell[:, d], H)
        return result.reshape(H * j, by_level.shape[2])

    def dot(self, v: np.ndarray) -> np.ndarray:
        """See Dense.dot."""
        G, i, H, j = self.shape
        of_cell = np.einsum("cij,cj->ci", self.values, v.reshape(H, j)[self.b])
        sums = [np.bincount(self.a, of_cell[:, c], G) for c in range(i)]
        return np.stack(sums, axis=1) if sums else np.zeros((G, 0))

    def quadratic(self, U: np.ndarray) -> np.ndarray:
        """See Dense.quadratic."""
        G, i, _, _ = self.shape
        result = np.zeros((G, i, i))
        for level, places, values in self._by_level():
            result[level] = values @ U[places[:, None], places] @ values.T
        return result

    def _by_level(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield each level of a, the indices of its cells' columns of Z_b, and values (i, …)."""
        _, i, _, j = self.shape
        for level, (start, end) in enumerate(zip(self.ends, self.ends[1:], strict=False)):
            if start < end:
                places = (self.b[start:end, None] * j + np.arange(j)).ravel()
                yield level, places, self.values[start:end].transpose(1, 0, 2).reshape(i, -1)


class Cells:
    """Sums over the cells of rows that are added in parts."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._waiting = 0

    def add(self, cells: np.ndarray, values: np.ndarray) -> None:
        """Add rows: the cell of each (n,), and the values to sum (q, n)."""
        self._parts.append(_sum_by_cell(cells, values))
        self._waiting += len(self._parts[-1][0])
        if self._waiting > len(self._parts[0][0]):  # bounds how often each sum is merged
            self._join()

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the cells (C,), increasing, and their sums (q, C)."""
        self._join()
        return self._parts[0]

    def _join(self) -> None:
        if len(self._parts) > 1:
            cells = np.concatenate([cells for cells, _ in self._parts])
            self._parts = [_sum_by_cell(cells, np.concatenate([s for _, s in self._parts], axis=1))]
        self._waiting = 0


def _sum_by_cell(cells: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    filled, where = np.unique(cells, return_inverse=True)
    return filled, np.array([np.bincount(where, row, len(filled)) for row in values])
