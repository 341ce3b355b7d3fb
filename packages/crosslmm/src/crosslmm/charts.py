"""Coordinates in which the deviance is nearly quadratic, also at the boundary of the covariances.

The deviance is a smooth function of the relative covariances Sigma = L L' on the cone of positive
semidefinite matrices. As a function of L it has flat and curved valleys where Sigma is near the
cone's boundary. A block of Sigma (correlated effects, or a single effect) is therefore written as
Sigma = V M M'V', where V has its eigenvectors at the chart's origin, largest eigenvalue first, and
M is lower triangular. At the origin M is diagonal, with values near zero last, and the Hessian by M
is about

    J'I J + 2 G+,

with I the expected second derivative by Sigma, J the derivative of Sigma by M, and G+ the positive
part of G = V'(d deviance / d Sigma)V, which keeps a column of M at zero if that is optimal.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from crosslmm.moments import precision_at

FLAT = 1e-10
"""Curvature, relative to the largest, below which a direction is treated as flat."""


@dataclass(frozen=True)
class Block:
    """Correlated effects of a factor (0: a, 1: b, 2: the nested intercept), as indices."""

    factor: int
    places: np.ndarray

    def of(self, matrices: Sequence[np.ndarray]) -> np.ndarray:
        """Return the block of its factor's matrix."""
        return matrices[self.factor][self.places[:, None], self.places]


@functools.cache
def lower_triangle(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and column indices of the lower triangle of a (k, k) matrix."""
    return np.tril_indices(k)


def blocks_of(free: Sequence[np.ndarray]) -> list[Block]:
    """Return the blocks of factors whose L is free where `free` (k, k), lower triangular, is true."""
    blocks = []
    for factor, varies in enumerate(free):
        left = list(range(len(varies)))
        while left:
            together = [effect for effect in left if varies[effect, left[0]]]
            blocks.append(Block(factor, np.array(together)))
            left = [effect for effect in left if effect not in together]
    return blocks


class Chart:
    """Coordinates (q,) of the factors' L: the lower triangles M of all blocks, concatenated."""

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
        Ms, cut = [], 0
        for block in self.blocks:
            k = len(block.places)
            M = np.zeros((k, k))
            M[lower_triangle(k)] = theta[cut : cut + k * (k + 1) // 2]
            Ms.append(M)
            cut += k * (k + 1) // 2
        return Ms

    def factors(self, theta: np.ndarray) -> list[np.ndarray]:
        """Return L of each factor, V M by block: square roots of Sigma, not lower triangular."""
        roots = [np.zeros(shape) for shape in self.shapes]
        for block, V, M in zip(self.blocks, self.V, self.triangles(theta), strict=True):
            roots[block.factor][block.places[:, None], block.places] = V @ M
        return roots

    def gradient(self, theta: np.ndarray, by_S: Sequence[np.ndarray]) -> np.ndarray:
        """Return the gradient (q,) from the gradients by the factors' Sigma."""
        parts = []
        for block, V, M in zip(self.blocks, self.V, self.triangles(theta), strict=True):
            parts.append((2 * V.T @ block.of(by_S) @ V @ M)[lower_triangle(len(M))])
        return np.concatenate(parts)

    def inverse_hessian(
        self, theta: np.ndarray, by_S: Sequence[np.ndarray], zz: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return the inverse of the approximate Hessian (q, q), zero along flat directions.

        `zz` are Z'Z by level of each factor, where each factor is treated as the only one.
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
    """A step off the boundary: Sigma of a block grows by `size` v v', v over the factor's effects."""

    block: Block
    v: np.ndarray
    size: float
    gain: float
    """approximate decrease of the deviance"""

    def taken(self, Ls: Sequence[np.ndarray], share: float = 1.0) -> list[np.ndarray]:
        """Return the factors' L after a `share` of the step."""
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
    """Return the best step off the cone's boundary, or None if all of them increase the deviance.

    Where the gradient by L vanishes, Sigma is a (local) optimum of its cone if and only if the
    gradient by Sigma has no negative eigenvalue; L = 0 is always stationary.
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
            candidate = Escape(block, v, -slope / bend, slope**2 / (2 * bend))
            best = candidate if best is None or candidate.gain > best.gain else best
    return best
