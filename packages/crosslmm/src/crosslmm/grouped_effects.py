"""Random effects of grouping factors in several linear predictors, and P = Lambda'Z'W Z Lambda + I.

Lambda is block-diagonal: the levels of a grouping factor share a lower triangular L. P is factored
by eliminating the factor with the most effects, whose part is block-diagonal; the rest is dense.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky


@dataclass(frozen=True)
class Grouping:
    """A grouping factor: its level of each row, and the columns of its effects."""

    codes: np.ndarray
    """level of each row (n,)"""
    levels: int
    Z: np.ndarray
    """columns (n, c)"""
    predictor: np.ndarray
    """index (c,) of the linear predictor that each column enters"""
    free: np.ndarray
    """true where an element of L is free (c, c), lower triangular"""

    @property
    def size(self) -> int:
        """Number of random effects."""
        return self.levels * self.Z.shape[1]


@dataclass
class Factored:
    """P = [A, B; B', D]: Cholesky factors of A and of D - B'A^-1 B."""

    inverse_C: np.ndarray
    """inverse of A's Cholesky factors (G, c, c)"""
    M: np.ndarray
    """C^-1 B (G, c, m)"""
    F: np.ndarray
    """lower Cholesky factor (m, m)"""
    log_determinant: float

    def solve(self, first: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return P^-1 times a vector given by its parts (G, c) and (m,)."""
        t = np.einsum("gij,gj->gi", self.inverse_C, first)
        rest = rest - np.einsum("gim,gi->m", self.M, t)
        rest = cho_solve((self.F, True), rest) if len(rest) else rest
        t = t - self.M @ rest
        return np.einsum("gji,gj->gi", self.inverse_C, t), rest


class GroupedEffects:
    """The random effects of a model with n rows and K linear predictors.

    Parameters
    ----------
    groupings
        Grouping factors, at least one.
    rows, predictors
        n and K.
    """

    def __init__(self, groupings: Sequence[Grouping], rows: int, predictors: int) -> None:
        self.shape = rows, predictors
        self.order = sorted(range(len(groupings)), key=lambda f: -groupings[f].size)
        self.first, *self.rest = (groupings[f] for f in self.order)
        ends = np.cumsum([0, *(grouping.size for grouping in self.rest)])
        self.slices = [slice(*pair) for pair in itertools.pairwise(ends)]
        self.m = int(ends[-1])
        self.places = [
            ends[f] + g.codes[:, None] * g.Z.shape[1] + np.arange(g.Z.shape[1])
            for f, g in enumerate(self.rest)
        ]

    def product(self, first: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return Z b (n, K) for effects b of the first factor (G, c) and of the rest (m,)."""
        total = np.zeros(self.shape)
        for grouping, effects in self.with_effects(first, rest):
            for c, k in enumerate(grouping.predictor):
                total[:, k] += grouping.Z[:, c] * effects[grouping.codes, c]
        return total

    def with_effects(
        self, first: np.ndarray, rest: np.ndarray
    ) -> Iterator[tuple[Grouping, np.ndarray]]:
        """Yield each factor, the eliminated one first, with its effects (levels, c)."""
        yield self.first, first
        for grouping, where in zip(self.rest, self.slices, strict=True):
            yield grouping, rest[where].reshape(grouping.levels, -1)

    def sums(self, v: np.ndarray) -> list[np.ndarray]:
        """Return Z'v by level (levels, c) of each factor, the eliminated one first; v is (n, K)."""
        return [
            np.stack(
                [
                    np.bincount(g.codes, g.Z[:, c] * v[:, k], g.levels)
                    for c, k in enumerate(g.predictor)
                ],
                axis=1,
            )
            for g in (self.first, *self.rest)
        ]

    def scaled(self, sums: Sequence[np.ndarray], Ls: Sequence[np.ndarray]):
        """Return Lambda' times sums by level: for the first factor (G, c), for the rest (m,)."""
        parts = [part @ L for part, L in zip(sums, Ls, strict=True)]
        return parts[0], np.concatenate([part.ravel() for part in parts[1:]] or [np.zeros(0)])

    def effects(self, u_first: np.ndarray, u_rest: np.ndarray, Ls: Sequence[np.ndarray]):
        """Return Lambda u for the first factor (G, c) and for the rest (m,)."""
        rest = [
            (u_rest[where].reshape(g.levels, -1) @ L.T).ravel()
            for g, where, L in zip(self.rest, self.slices, Ls[1:], strict=True)
        ]
        return u_first @ Ls[0].T, np.concatenate(rest or [np.zeros(0)])

    def _cross(self, left: Grouping, right: Grouping, W: np.ndarray) -> np.ndarray:
        """Return Z_left'W Z_right (levels, c, levels, c) of two factors."""
        H = right.levels
        cell = left.codes * H + right.codes
        shape = left.levels, left.Z.shape[1], H, right.Z.shape[1]
        total = np.empty(shape)
        for c, k in enumerate(left.predictor):
            weighted = left.Z[:, c]
            for d, other in enumerate(right.predictor):
                values = weighted * right.Z[:, d] * W[:, k, other]
                total[:, c, :, d] = np.bincount(cell, values, left.levels * H).reshape(-1, H)
        return total

    def _within(self, grouping: Grouping, W: np.ndarray) -> np.ndarray:
        """Return Z'W Z of each level (levels, c, c)."""
        c = grouping.Z.shape[1]
        total = np.empty((grouping.levels, c, c))
        for i, k in enumerate(grouping.predictor):
            for j, other in enumerate(grouping.predictor[: i + 1]):
                values = grouping.Z[:, i] * grouping.Z[:, j] * W[:, k, other]
                total[:, i, j] = total[:, j, i] = np.bincount(
                    grouping.codes, values, grouping.levels
                )
        return total

    def factor(self, W: np.ndarray, Ls: Sequence[np.ndarray]) -> Factored:
        """Factor P; raise LinAlgError if it is not positive definite."""
        L, c = Ls[0], self.first.Z.shape[1]
        A = L.T @ self._within(self.first, W) @ L + np.eye(c)
        C = np.linalg.cholesky(A)
        inverse_C = np.linalg.inv(C)
        logs = np.log(np.diagonal(C, axis1=1, axis2=2)).sum()
        B = np.empty((self.first.levels, c, self.m))
        D = np.eye(self.m)
        for f, (g, where, of) in enumerate(zip(self.rest, self.slices, Ls[1:], strict=True)):
            cross = np.einsum(
                "gchd,ci,dj->gihj", self._cross(self.first, g, W), L, of, optimize=True
            )
            B[:, :, where] = cross.reshape(self.first.levels, c, -1)
            within = of.T @ self._within(g, W) @ of
            view = D[where, where].reshape(g.levels, len(of), g.levels, len(of))
            levels = np.arange(g.levels)
            view[levels, :, levels, :] += within
            D[where, where] = view.reshape(g.size, g.size)
            for other, at, its in zip(self.rest[:f], self.slices[:f], Ls[1:], strict=False):
                block = np.einsum(
                    "gchd,ci,dj->gihj", self._cross(g, other, W), of, its, optimize=True
                )
                D[where, at] = block.reshape(g.size, other.size)
                D[at, where] = D[where, at].T
        M = inverse_C @ B
        flat = M.reshape(M.shape[0] * M.shape[1], self.m)
        F = cholesky(D - flat.T @ flat, lower=True) if self.m else np.zeros((0, 0))
        logs += np.log(np.diagonal(F)).sum()
        return Factored(inverse_C, M, F, 2 * float(logs))
