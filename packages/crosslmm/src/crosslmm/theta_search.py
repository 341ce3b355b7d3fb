"""The maximum-likelihood search for theta, the random effects' relative covariance factors.

The likelihood depends only on Sigma = L L', so the search is over covariances, in unbounded
coordinates (crosslmm.charts); lme4's lower triangles are computed at the end. A search with
bounds L_ii >= 0 may stop where a diagonal element should pass through zero, up to 20 log-likelihood
units short of the optimum on simulated data. Here an optimum at the boundary, where a variance is
zero or a correlation is one, is an ordinary one, and a saddle point is recognised by the sign of
the gradient.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from crosslmm.charts import Block, Chart, blocks_of, escape
from crosslmm.cross_products import Products
from crosslmm.deviance import solve
from crosslmm.moments import estimate_single
from crosslmm.several import SeveralProducts, solve_several

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
        return _Point(solution.deviance, list(Ls), by_S)

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
        return _Point(solution.deviance, list(Ls), solution.by_S)

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
