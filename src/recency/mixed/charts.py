"""Coordinates in which the deviance is close to quadratic, at the edge of the covariances too.

The deviance is a smooth function of the relative covariances Sigma = L L', on the cone of positive
semidefinite matrices. In L itself it has flat and curved valleys where Sigma is near the cone's edge.
A block of Sigma (of correlated effects; one effect by itself is a block) is therefore written
Sigma = V M M'V', with V its eigenvectors where the chart was drawn, largest eigenvalue first, and M
lower triangular. There M is diagonal with what is near zero last, and the Hessian by M is about

    J'I J + 2 G+,

with I the expected second derivative by Sigma, J the derivative of Sigma by M, and G+ the positive
part of G = V'(d deviance / d Sigma)V, by which each column of M is held at zero where it is best there.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from recency.mixed.moments import precision_at

FLAT = 1e-10
"""Curvature, as a share of the largest, below which a direction counts as flat."""


@dataclass(frozen=True)
class Block:
    """Effects of a factor (0: a, 1: b, 2: the nested intercept) that are correlated: their places."""

    factor: int
    places: np.ndarray

    def of(self, matrices: Sequence[np.ndarray]) -> np.ndarray:
        """Return the block's part of its factor's matrix."""
        return matrices[self.factor][self.places[:, None], self.places]


@functools.cache
def lower_triangle(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of the lower triangle of a (k, k) matrix."""
    return np.tril_indices(k)


def blocks_of(free: Sequence[np.ndarray]) -> list[Block]:
    """Return the blocks of factors whose L varies where `free` (k, k), a lower triangle, is true."""
    blocks = []
    for factor, varies in enumerate(free):
        left = list(range(len(varies)))
        while left:
            together = [place for place in left if varies[place, left[0]]]
            blocks.append(Block(factor, np.array(together)))
            left = [place for place in left if place not in together]
    return blocks


class Chart:
    """Coordinates (q,) of L's by factor: the lower triangles M of the blocks, one behind the other."""

    def __init__(self, blocks: Sequence[Block], Ls: Sequence[np.ndarray]):
        self.blocks, self.shapes = blocks, [L.shape for L in Ls]
        self.V, start = [], []
        for block in blocks:
            values, vectors = np.linalg.eigh(block.of([L @ L.T for L in Ls]))
            self.V.append(vectors[:, ::-1])
            M = np.diag(np.sqrt(np.maximum(values[::-1], 0.0)))
            start.append(M[lower_triangle(len(M))])
        self.start = np.concatenate(start)

    def triangles(self, theta: np.ndarray) -> list[np.ndarray]:
        """Return M of each block."""
        found, cut = [], 0
        for block in self.blocks:
            k = len(block.places)
            M = np.zeros((k, k))
            M[lower_triangle(k)] = theta[cut : cut + k * (k + 1) // 2]
            found.append(M)
            cut += k * (k + 1) // 2
        return found

    def factors(self, theta: np.ndarray) -> list[np.ndarray]:
        """Return L of each factor, V M by block: square roots of Sigma, not lower triangular."""
        found = [np.zeros(shape) for shape in self.shapes]
        for block, V, M in zip(self.blocks, self.V, self.triangles(theta), strict=True):
            found[block.factor][block.places[:, None], block.places] = V @ M
        return found

    def gradient(self, theta: np.ndarray, by_S: Sequence[np.ndarray]) -> np.ndarray:
        """Return the gradient (q,) from that by each factor's Sigma."""
        parts = []
        for block, V, M in zip(self.blocks, self.V, self.triangles(theta), strict=True):
            parts.append((2 * V.T @ block.of(by_S) @ V @ M)[lower_triangle(len(M))])
        return np.concatenate(parts)

    def inverse_hessian(
        self, theta: np.ndarray, by_S: Sequence[np.ndarray], zz: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return the inverse of the Hessian's approximation (q, q), zero along flat directions.

        `zz` are Z'Z by level of each factor, each of which counts as if it were alone.
        """
        Ls = self.factors(theta)
        changes: list[list[np.ndarray]] = [[] for _ in Ls]
        held = []
        for block, V, M in zip(self.blocks, self.V, self.triangles(theta), strict=True):
            k, places = len(M), block.places
            rows, columns = lower_triangle(k)
            moved = np.zeros((len(rows), k, k))
            moved[np.arange(len(rows)), rows] = M.T[columns]
            by_M = np.zeros((len(rows), *self.shapes[block.factor]))
            by_M[:, places[:, None], places] = V @ (moved + moved.transpose(0, 2, 1)) @ V.T
            changes[block.factor].append(by_M.reshape(len(rows), -1))
            values, vectors = np.linalg.eigh(V.T @ block.of(by_S) @ V)
            positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
            same = columns[:, None] == columns
            held.append(2 * np.where(same, positive[np.ix_(rows, rows)], 0.0))
        expected = []
        for factor, of_factor in enumerate(changes):
            if of_factor:
                J = np.concatenate(of_factor)
                expected.append(J @ precision_at(zz[factor], Ls[factor]) @ J.T)
        values, vectors = np.linalg.eigh(block_diag(*expected) + block_diag(*held))
        inverse = np.where(values > FLAT * values[-1], 1 / np.maximum(values, 1e-300), 0.0)
        return (vectors * inverse) @ vectors.T


@dataclass
class Escape:
    """A way off the edge: Sigma of a block grows by `size` v v', v over all places of its factor."""

    block: Block
    v: np.ndarray
    size: float
    gain: float
    """by which the deviance falls, about"""

    def taken(self, Ls: Sequence[np.ndarray], share: float = 1.0) -> list[np.ndarray]:
        """Return the L's after a `share` of the step."""
        moved = [L.copy() for L in Ls]
        block, v = self.block, self.v[self.block.places]
        Sigma = block.of([L @ L.T for L in Ls]) + share * self.size * np.outer(v, v)
        values, vectors = np.linalg.eigh(Sigma)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        moved[block.factor][block.places[:, None], block.places] = root
        return moved


def escape(
    blocks: Sequence[Block],
    Ls: Sequence[np.ndarray],
    by_S: Sequence[np.ndarray],
    zz: Sequence[np.ndarray],
) -> Escape | None:
    """Return the best way off the cone's edge, or None where the deviance rises in all of them.

    Where the gradient by L vanishes, Sigma is a (local) optimum of its cone if and only if the
    gradient by Sigma has no negative eigenvalue: L = 0 is stationary whatever varies.
    """
    best = None
    for block in blocks:
        k = len(by_S[block.factor])
        expected = precision_at(zz[block.factor], Ls[block.factor])
        size = np.diagonal(expected).reshape(k, k)[block.places, block.places] ** 0.25
        size[size == 0] = 1.0  # of a column of zeros
        values, vectors = np.linalg.eigh(block.of(by_S) / np.outer(size, size))
        v = np.zeros(k)
        v[block.places] = vectors[:, 0] / size
        slope, square = v @ by_S[block.factor] @ v, np.outer(v, v).ravel()
        if values[0] < 0 and slope < 0:
            bend = square @ expected @ square
            found = Escape(block, v, -slope / bend, slope**2 / (2 * bend))
            best = found if best is None or found.gain > best.gain else best
    return best
