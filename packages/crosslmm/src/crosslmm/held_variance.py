"""The deviance of a linear mixed model from cross-products, with a variance parameter held fixed.

Coordinates are Cholesky factors C of the random effects' covariances, and log sigma. The effects of the held parameter come first in their block. A held sd is then C_00; with
a held correlation r, the second row is (r c, sqrt(1 - r^2) c) with free length c.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from crosslmm.charts import blocks_of, lower_triangle
from crosslmm.deviance import solve
from crosslmm.scaled_search import Searched, SearchResult
from crosslmm.several import SeveralProducts, solve_several

GRADIENT = 1e-3
"""Largest element of the gradient at the end of a search, per rough standard error."""
EDGE = 0.1
"""Smallest starting diagonal element, in rough standard errors, since 0 is a stationary point."""


@dataclass(frozen=True)
class Held:
    """A variance parameter: sigma (no indices), an sd (one index), or a correlation (two)."""

    factor: int = -1
    places: tuple[int, ...] = ()


@dataclass
class _Block:
    """A block of correlated effects of a factor, as indices, the held ones first."""

    factor: int
    places: np.ndarray
    cut: slice
    """the block's elements among all coordinates"""
    held: int
    """number of effects of the held parameter in this block: 0, 1 (an sd) or 2 (a correlation)"""

    def root(self, x: np.ndarray, value: float) -> np.ndarray:
        """Return C (k, k)."""
        C = np.zeros((len(self.places),) * 2)
        C[lower_triangle(len(C))] = x[self.cut]
        if self.held == 1:
            C[0, 0] = value
        elif self.held == 2:
            c = C[1, 1]
            C[1, 0], C[1, 1] = value * c, math.sqrt(max(1 - value**2, 0)) * c
        return C

    def gradient(self, by_C: np.ndarray, value: float) -> np.ndarray:
        """Return the gradient by the coordinates from that by C (k, k); 0 for held ones."""
        if self.held == 1:
            by_C[0, 0] = 0
        elif self.held == 2:
            by_C[1, 1] = value * by_C[1, 0] + math.sqrt(max(1 - value**2, 0)) * by_C[1, 1]
            by_C[1, 0] = 0
        return by_C[lower_triangle(len(by_C))]


class HeldVariance:
    """The deviance of a searched model as a function of one of its variance parameters.

    Parameters
    ----------
    searched
        The model at its optimum.
    held
        The parameter; its indices are those of the factor's columns.
    """

    def __init__(self, searched: Searched, held: Held) -> None:
        result = searched.result
        self._result, self._held = result, held
        A = [np.eye(len(a)) for a in searched.A]
        A += [np.zeros((0, 0))] * (2 - len(A))
        free = [factor.free for factor in result.factors]
        free += [np.zeros((0, 0), dtype=bool)] * (2 - len(free))
        if result.nested:
            A.append(np.eye(1))
            free.append(np.ones((1, 1), dtype=bool))
        for block in blocks_of(free):
            if block.factor == held.factor < len(searched.A) and held.places[0] in block.places:
                _hold(A[held.factor], searched.A[held.factor], list(block.places), held.places)
        self._inverse_A = [np.linalg.inv(a) for a in A]
        self._blocks: list[_Block] = []
        sigma, start, scales = result.solution.sigma, [], []
        for block in blocks_of(free):
            f, places = block.factor, list(block.places)
            first = list(held.places) if f == held.factor and held.places[0] in places else []
            order = [*first, *(index for index in places if index not in first)]
            end = len(start) + len(order) * (len(order) + 1) // 2
            self._blocks.append(_Block(f, np.array(order), slice(len(start), end), len(first)))
            half = sigma * (A[f] @ result.roots[f])[order]
            zz = self._inverse_A[f].T @ _information(result, f) @ self._inverse_A[f]
            sd = np.sqrt((half**2).sum(1))
            unaided = sigma / np.sqrt(np.maximum(np.diagonal(zz)[order], 1e-300))
            rough = np.maximum(sd, unaided) / math.sqrt(2 * _levels(result, f))
            C = np.linalg.qr(half.T, mode="r").T
            C = np.where(np.diagonal(C) < 0, -1.0, 1.0) * C
            diagonal = np.diag_indices(len(C))
            C[diagonal] = np.maximum(C[diagonal], EDGE * rough)
            if len(first) == 2:
                C[1, 1] = math.hypot(C[1, 0], C[1, 1])
            start += list(C[lower_triangle(len(C))])
            scales += list(rough[lower_triangle(len(C))[0]])
        self._scales = np.array([*scales, 1 / math.sqrt(2 * result.products.n)])
        self._start = np.array([*start, math.log(sigma)])

    def deviance(
        self, value: float, start: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
        """Return the minimal deviance, with the coordinates and inverse Hessian at the minimum.

        `start` are the coordinates and inverse Hessian for a nearby value.
        """
        x, inverse = start or (self._start, np.eye(len(self._start)) / 2)

        def objective(steps: np.ndarray) -> tuple[float, np.ndarray]:
            try:
                deviance, gradient = self.at(x + steps * self._scales, value)
            except np.linalg.LinAlgError:
                return math.inf, np.zeros(len(x))
            return deviance, gradient * self._scales

        options = {"gtol": GRADIENT, "hess_inv0": inverse}
        with np.errstate(all="ignore"):
            result = minimize(objective, np.zeros(len(x)), jac=True, method="BFGS", options=options)
        inverse = (result.hess_inv + result.hess_inv.T) / 2
        return float(result.fun), (x + result.x * self._scales, inverse)

    def at(self, x: np.ndarray, value: float) -> tuple[float, np.ndarray]:
        """Return the deviance and its gradient at coordinates (q,), with the held value `value`."""
        is_sigma = not self._held.places
        sigma = value if is_sigma else math.exp(x[-1])
        roots = [block.root(x, value) for block in self._blocks]
        Ls = [np.zeros_like(a) for a in self._inverse_A]
        for block, C in zip(self._blocks, roots, strict=True):
            Ls[block.factor][np.ix_(block.places, block.places)] = C / sigma
        scaled = [a @ L for a, L in zip(self._inverse_A, Ls, strict=True)]
        deviance, squares, by_S = _solved(self._result, scaled, sigma)
        # sigma also changes the relative covariances Omega / sigma^2.
        within = sum(float(np.sum(S * (L @ L.T))) for S, L in zip(by_S, scaled, strict=True))
        by_sigma = 2 * self._result.products.n - 2 * squares / sigma**2 - 2 * within
        gradient = np.zeros(len(x))
        gradient[-1] = 0.0 if is_sigma else by_sigma
        for block, C in zip(self._blocks, roots, strict=True):
            a = self._inverse_A[block.factor]
            by_covariance = a.T @ by_S[block.factor] @ a / sigma**2
            by_C = 2 * by_covariance[np.ix_(block.places, block.places)] @ C
            gradient[block.cut] = block.gradient(by_C, value)
        return deviance, gradient


def _hold(coordinates: np.ndarray, A: np.ndarray, block: list[int], held: Sequence[int]) -> None:
    """Replace a block of `coordinates` (k, k) by the held effects' rows of A and their complement.

    The given effects themselves are no coordinates for columns far from zero, as A is then all but
    singular.
    """
    rows = A[np.ix_(list(held), block)]
    unit = rows / np.sqrt((rows**2).sum(1))[:, None]
    others = np.linalg.svd(unit)[2][len(held) :]
    coordinates[np.ix_(list(held), block)] = rows
    left = [place for place in block if place not in held]
    coordinates[np.ix_(left, block)] = others


def _solved(
    result: SearchResult, roots: Sequence[np.ndarray], sigma: float
) -> tuple[float, float, list[np.ndarray]]:
    """Return deviance, penalised squares, and the gradient by each factor's relative covariance."""
    if isinstance(result.products, SeveralProducts):
        solution = solve_several(result.products, roots, sigma)
        return solution.deviance, solution.squares, solution.by_S
    t = roots[2].item() if result.nested else 0.0
    solution = solve(result.products, roots[0], roots[1], t, sigma)
    by_S = [solution.by_Sa, solution.by_Sb]
    if result.nested:
        by_S.append(np.array([[solution.by_tt]]))
    return solution.deviance, solution.squares, by_S


def _levels(result: SearchResult, factor: int) -> int:
    if isinstance(result.products, SeveralProducts):
        return len(result.products.zz()[factor])
    if factor == 2:
        return int((result.products.cells[:, :, 0] > 0).sum())
    return len(result.products.aa if factor == 0 else result.products.bb)


def _information(result: SearchResult, factor: int) -> np.ndarray:
    """Return the mean of Z'Z (k, k) over the levels of a factor."""
    if isinstance(result.products, SeveralProducts):
        return result.products.zz()[factor].mean(0)
    if factor == 2:
        cells = result.products.cells[:, :, 0]
        return np.array([[cells[cells > 0].mean()]])
    return (result.products.aa if factor == 0 else result.products.bb).mean(0)
