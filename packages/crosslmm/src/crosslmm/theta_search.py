"""The maximum-likelihood search for theta, the random effects' relative covariance factors.

The likelihood depends only on Sigma = L L', so the search is over covariances, in unbounded
coordinates (`Chart`, below); lme4's lower triangles are computed at the end. A search with
bounds L_ii >= 0 may stop where a diagonal element should pass through zero, up to 20 log-likelihood
units short of the optimum on simulated data. Here an optimum at the boundary, where a variance is
zero or a correlation is one, is an ordinary one, and a saddle point is recognised by the sign of
the gradient.

**Start and scale** are estimated for one grouping factor at a time. For y = X b + Z u + e with one factor, V = I + Z Sigma Z', W_g = Z_g'V^-1 Z_g and s_g = Z_g'V^-1 (y
- X b), the expectation of s_g s_g' / sigma^2 under another Sigma~ is W_g + W_g (Sigma~ - Sigma)
W_g. Equating the sum over levels g with its observed value gives a linear system for Sigma~
(MINQUE, Rao 1971); iterating it is Fisher scoring. Since crossed factors are nearly orthogonal,
this comes close to the optimum without evaluating the whole deviance.

**Coordinates** are those in which the deviance is nearly quadratic, also at the boundary of the
covariances. The deviance is a smooth function of the relative covariances Sigma = L L' on the cone of positive
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from crosslmm.by_level import gram_by_level, whiten
from crosslmm.cross_products import Products
from crosslmm.deviance import Solution, solve
from crosslmm.several import SeveralProducts, SeveralSolution, solve_several

SWEEPS = 4
"""Iterations of the linear system; the search does the rest."""


@dataclass
class SingleFactor:
    """A factor's L (k, k), and the residual sd, for a model with this factor only."""

    L: np.ndarray
    sigma: float


def estimate_single(
    zz: np.ndarray, zw: np.ndarray, ww: np.ndarray, n: int, free: np.ndarray
) -> SingleFactor:
    """Estimate a factor from Z'Z (G, k, k), Z'W (G, k, p + 1) and W'W, where W = [X y].

    `free` (k, k) is true where an element of the lower triangle is free. No variance is below its
    standard error, so that L is invertible and no direction appears flat.
    """
    k, p = len(free), len(ww) - 1
    kept = free | free.T
    Sigma, L = np.zeros((k, k)), np.zeros((k, k))
    for _ in range(SWEEPS):
        T, half = eliminate(zz, L)
        half_w = T @ zw
        W = zz - gram_by_level(half)
        flat_w = half_w.reshape(-1, p + 1)
        left = ww - flat_w.T @ flat_w
        weights = np.append(-np.linalg.solve(left[:p, :p], left[:p, p]), 1.0)
        s = zw @ weights - (half.transpose(0, 2, 1) @ (half_w @ weights)[:, :, None])[:, :, 0]
        variance = weights @ left @ weights / n
        system = precision(W)  # times vec(Sigma~)
        right = s.T @ s / variance - W.sum(0) + (system @ Sigma.ravel()).reshape(k, k)
        index = np.flatnonzero(kept)
        Sigma = np.zeros((k, k))
        Sigma.flat[index] = np.linalg.lstsq(
            system[np.ix_(index, index)], right.flat[index], rcond=None
        )[0]
        Sigma = bound_from_below((Sigma + Sigma.T) / 2, system, free)
        L = np.linalg.cholesky(Sigma)
    return SingleFactor(L, float(np.sqrt(variance)))


def bound_from_below(Sigma: np.ndarray, expected: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return Sigma (k, k) with every variance at least its standard error, from its `precision`."""
    k = len(Sigma)
    values, vectors = np.linalg.eigh(Sigma)
    squares = (vectors[:, None] * vectors[None]).reshape(k * k, k)
    information = np.sum((expected @ squares) * squares, axis=0) / 2
    values = np.maximum(values, 1 / np.sqrt(np.maximum(information, 1e-8)))
    return np.where(free | free.T, (vectors * values) @ vectors.T, 0.0)


def eliminate(zz: np.ndarray, L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return T and T Z'Z (G, k, k), where Z'V^-1 Z is Z'Z - (T Z'Z)'T Z'Z at L (k, k)."""
    T, _ = whiten(zz, L)
    return T, T @ zz


def precision(W: np.ndarray) -> np.ndarray:
    """Return the sum over levels of W kron W (k^2, k^2) for W = Z'V^-1 Z by level (G, k, k).

    This is the expected second derivative of the deviance by the relative covariance.
    """
    k = W.shape[1]
    flat = W.reshape(len(W), k * k)
    return (flat.T @ flat).reshape((k,) * 4).transpose(0, 3, 1, 2).reshape(k * k, k * k)


def precision_at(zz: np.ndarray, L: np.ndarray) -> np.ndarray:
    """Return `precision` of a single factor from its Z'Z (G, k, k), at L (k, k)."""
    _, half = eliminate(zz, L)
    return precision(zz - gram_by_level(half))


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


SINGULAR = 1e-4
"""lme4's limit: a fit is singular if a diagonal element of L is below it."""
TOLERANCE = 1e-5
"""A search has converged if a step could decrease the deviance by no more than this."""
ENOUGH = 1e-10
"""Expected gain at which a search ends; small, since steps use an approximate Hessian."""
WORTH = 1e-6
"""Smallest expected gain of a step off the boundary."""
KEPT = 2
"""Number of steps per chart."""
STEPS = 200
ROUNDING = 1e-11
"""Differences below this share of the deviance are treated as rounding."""


@dataclass
class Optimum:
    """The result of a search; La and Lb are lower triangular with nonnegative diagonals."""

    La: np.ndarray
    Lb: np.ndarray
    deviance: float
    gain: float
    """expected decrease of the deviance by another step"""
    evaluations: int
    converged: bool
    singular: bool
    solution: Solution | SeveralSolution
    """the model at the optimum"""
    t: float = 0.0
    """the relative sd of a nested intercept; 0 without one"""
    more: tuple[np.ndarray, ...] = ()
    """L of the third and further factors"""

    @property
    def Ls(self) -> tuple[np.ndarray, ...]:
        """L of each factor; empty for a missing second factor."""
        return self.La, self.Lb, *self.more


@dataclass
class _Point:
    deviance: float
    Ls: list[np.ndarray]
    """square roots of each factor's Sigma"""
    by_S: list[np.ndarray]
    """the gradient by each factor's Sigma"""
    solution: Solution | SeveralSolution


Evaluate = Callable[[Sequence[np.ndarray]], _Point]


def search(
    products: Products,
    free_a: np.ndarray,
    free_b: np.ndarray,
    start: Sequence[np.ndarray] | None = None,
    enough: float = ENOUGH,
) -> Optimum:
    """Maximise the likelihood over the free elements of La and Lb, from moments or from `start`.

    `free_a` (i, i) and `free_b` (j, j) are true where an element of the lower triangle is free; the
    others are zero. Cross-products with `cells` also have a nested intercept, whose sd (1, 1) is
    the third element of `start`. The search ends when a step is expected to gain less than
    `enough`. Raises numpy.linalg.LinAlgError if the likelihood has no finite value.
    """
    evaluations, nested = 0, products.cells is not None
    free = [free_a, free_b, *([np.ones((1, 1), dtype=bool)] if nested else [])]
    zz, blocks = products.zz(), blocks_of(free)

    def at(Ls: Sequence[np.ndarray]) -> _Point:
        nonlocal evaluations
        evaluations += 1
        solution = solve(products, Ls[0], Ls[1], Ls[2].item() if nested else 0.0)
        by_S = [solution.by_Sa, solution.by_Sb, *([np.array([[solution.by_tt]])] if nested else [])]
        return _Point(solution.deviance, list(Ls), by_S, solution)

    first = list(start) if start is not None else by_moments(products, free)
    point, gain = _minimise(at, first, blocks, zz, enough)
    La, Lb, *t = map(triangle, point.Ls)
    diagonals = np.concatenate([np.diagonal(L) for L in (La, Lb, *t)])
    return Optimum(
        La=np.where(free_a, La, 0.0),
        Lb=np.where(free_b, Lb, 0.0),
        deviance=float(point.deviance),
        gain=float(gain),
        evaluations=evaluations,
        converged=bool(gain <= TOLERANCE),
        singular=bool(diagonals.min() < SINGULAR),
        solution=point.solution,
        t=float(t[0].item()) if nested else 0.0,
    )


def search_several(
    products: SeveralProducts,
    free: Sequence[np.ndarray],
    start: Sequence[np.ndarray] | None = None,
    enough: float = ENOUGH,
) -> Optimum:
    """Maximise the likelihood over the free elements of each factor's L, from moments or `start`.

    `free` (k, k) are as for `search`, in the order of the cross-products' factors. Raises
    numpy.linalg.LinAlgError if the likelihood has no finite value.
    """
    evaluations = 0

    def at(Ls: Sequence[np.ndarray]) -> _Point:
        nonlocal evaluations
        evaluations += 1
        solution = solve_several(products, Ls)
        return _Point(solution.deviance, list(Ls), solution.by_S, solution)

    first = list(start or by_moments(products, free))
    point, gain = _minimise(at, first, blocks_of(free), products.zz(), enough)
    Ls = [np.where(f, triangle(L), 0.0) for f, L in zip(free, point.Ls, strict=True)]
    return Optimum(
        La=Ls[0],
        Lb=Ls[1],
        deviance=float(point.deviance),
        gain=float(gain),
        evaluations=evaluations,
        converged=bool(gain <= TOLERANCE),
        singular=bool(min(np.diagonal(L).min() for L in Ls) < SINGULAR),
        solution=point.solution,
        more=tuple(Ls[2:]),
    )


def gain_at(
    blocks: Sequence[Block],
    Ls: Sequence[np.ndarray],
    by_S: Sequence[np.ndarray],
    zz: Sequence[np.ndarray],
) -> float:
    """Return the expected decrease of the deviance by a step, within the covariances' bounds.

    `by_S` is the gradient by each factor's Sigma = L L', `zz` its Z'Z by level.
    """
    chart = Chart(blocks, Ls)
    gradient = chart.gradient(chart.start, by_S)
    inverse = chart.inverse_hessian(chart.start, by_S, zz)
    way = escape(blocks, Ls, by_S, zz)
    return max(float(gradient @ inverse @ gradient) / 2, way.gain if way else 0.0)


def _minimise(
    at: Evaluate,
    start: list[np.ndarray],
    blocks: Sequence[Block],
    zz: Sequence[np.ndarray],
    enough: float,
) -> tuple[_Point, float]:
    """Return the optimum, and the expected gain of another step."""
    point, gain = at(start), np.inf
    for _ in range(STEPS):
        point, gain = _descend(at, point, blocks, zz, enough)
        if gain > enough:
            break  # no step decreases the deviance
        way = escape(blocks, point.Ls, point.by_S, zz)
        if way is None or way.gain < WORTH:
            break
        tries = (at(way.taken(point.Ls, 0.25**n)) for n in range(10))
        better = next((there for there in tries if there.deviance < point.deviance), None)
        if better is None:
            gain = way.gain
            break
        point = better
    return point, float(gain)


def _descend(
    at: Evaluate, point: _Point, blocks: Sequence[Block], zz: Sequence[np.ndarray], enough: float
) -> tuple[_Point, float]:
    """Descend until a step is expected to gain less than `enough`; return the point and the gain."""
    gain = np.inf
    for _ in range(STEPS):
        chart = Chart(blocks, point.Ls)
        theta, before = chart.start, None
        for _ in range(KEPT):
            gradient = chart.gradient(theta, point.by_S)
            inverse = chart.inverse_hessian(theta, point.by_S, zz)
            if before is not None:
                inverse = update_inverse(inverse, theta - before[0], gradient - before[1])
            step = -inverse @ gradient
            gain = float(-step @ gradient / 2)
            if gain <= enough:
                return point, gain
            lower = line_search(at, chart, theta, step, point.deviance, -2 * gain)
            if lower is None:
                break
            before = theta, gradient
            theta, point = lower
        if before is None:
            break  # even the first step on a new chart does not decrease the deviance
    return point, gain


def line_search(
    at: Evaluate, chart: Chart, theta: np.ndarray, step: np.ndarray, value: float, slope: float
) -> tuple[np.ndarray, _Point] | None:
    """Return the point where a step, or part of it, decreases the deviance, or None."""
    for _ in range(20):
        there = at(chart.factors(theta + step))
        rise = there.deviance - value
        noise = abs(rise) < ROUNDING * abs(value) and -slope < 10 * ROUNDING * abs(value)
        if rise <= 1e-4 * slope or noise:
            return theta + step, there
        shorter = -slope / (2 * (rise - slope)) if np.isfinite(rise) else 0.1
        step = step * np.clip(shorter, 0.1, 0.5)
        slope = slope * np.clip(shorter, 0.1, 0.5)
    return None


def update_inverse(inverse: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Update an inverse Hessian (q, q) by BFGS from the last `step` and gradient `change`."""
    along = step @ change
    if along <= 1e-8 * np.linalg.norm(step) * np.linalg.norm(change):
        return inverse
    turn = np.eye(len(step)) - np.outer(step, change) / along
    return turn @ inverse @ turn.T + np.outer(step, step) / along


def other_starts(
    products: Products | SeveralProducts, free: Sequence[np.ndarray]
) -> list[list[np.ndarray]]:
    """Return starts in which one factor at a time has most of the variance.

    Without a constant among the fixed effects, the effects of any factor may express the mean, and
    the likelihood has an optimum for each.
    """
    Ls = by_moments(products, free)
    return [
        [(3.0 if f == largest else 0.2) * L for f, L in enumerate(Ls)]
        for largest in range(len(Ls))
        if len(Ls[largest])
    ]


def by_moments(
    products: Products | SeveralProducts, free: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return the moment estimate of each factor's L, one factor at a time."""
    if isinstance(products, SeveralProducts):
        pairs = list(zip(products.zz(), products.zw(), strict=True))
        return _moments(pairs, products.ww, products.n, free)
    q = len(products.ww)
    parts = [(products.aa, products.aw), (products.bb, products.bw)]
    if products.cells is not None:
        pairs = products.cells[products.cells[:, :, 0] > 0]
        parts.append((pairs[:, 0, None, None], pairs[:, None, -q:]))
    return _moments(parts, products.ww, products.n, free)


def _moments(
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    ww: np.ndarray,
    n: int,
    free: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """Return L of each factor from its Z'Z and Z'W by level."""
    starts = [
        estimate_single(zz, zw, ww, n, of_factor) if len(of_factor) else None
        for (zz, zw), of_factor in zip(parts, free, strict=True)
    ]
    # A factor's residuals contain the others' effects; the smallest sd is closest to sigma.
    sigma = min(by_itself.sigma for by_itself in starts if by_itself)
    return [
        np.where(of_factor, by_itself.L * by_itself.sigma / sigma, 0.0)
        if by_itself
        else of_factor * 0.0
        for by_itself, of_factor in zip(starts, free, strict=True)
    ]


def triangle(root: np.ndarray) -> np.ndarray:
    """Return the lower triangular L with L L' = root root' and a nonnegative diagonal."""
    if not len(root):
        return root
    L = np.linalg.qr(root.T, mode="r").T
    return L * np.where(np.diagonal(L) < 0, -1.0, 1.0) + 0.0  # no negative zeros
