"""The maximum-likelihood search for theta, the random effects' relative covariance factors.

The search is free of bounds. L L' is all that the likelihood sees, so the sign of a column of L is
arbitrary, and lme4's bound L_ii >= 0 is met afterwards by turning columns round. Within bounds the
search would stop where a diagonal element wants to pass through zero, up to 20 log-likelihood units
short on simulated data, and a fit whose variance is truly zero is, without them, an ordinary
smooth optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import minimize

from recency.mixed.cross_products import Products
from recency.mixed.deviance import solve
from recency.mixed.moments import alone

SINGULAR = 1e-4
"""lme4's limit: a diagonal element of L below it makes the fit singular."""
TOLERANCE = 1e-5
"""A search has converged when a Newton step could lower the deviance by no more than this."""
STARTS = (0.1, 1.0, 0.02)
"""Diagonals of L to start at; the later ones only where the first ends at a singular fit."""
INSIDE = 3.0
"""Standard errors from zero of the diagonal of L, below which there may be another optimum."""
NEAR = 1e-4
"""The drop of the deviance that quasi-Newton steps leave to Newton's."""
FLAT = 1e-6
"""Curvature, as a share of the largest, below which a direction counts as flat."""

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass
class Optimum:
    """What the search found; La and Lb are lower triangular with no negative diagonal element."""

    La: np.ndarray
    Lb: np.ndarray
    deviance: float
    gain: float
    """how much lower a Newton step puts the deviance, at most"""
    curvature: float
    """the smallest eigenvalue of the Hessian"""
    evaluations: int
    converged: bool
    singular: bool
    t: float = 0.0
    """the relative sd of a nested intercept, 0 without one"""


@dataclass
class _Point:
    theta: np.ndarray
    value: float
    gain: float
    curvature: float
    direction: np.ndarray
    """in which the curvature is smallest"""
    saddle: bool
    """whether the deviance falls that way, beyond what rounding makes of a flat direction"""
    se: np.ndarray
    """the standard errors of theta; infinite at a singular fit"""


def search(products: Products, free_a: np.ndarray, free_b: np.ndarray) -> Optimum:
    """Maximise the likelihood over the free elements of La and Lb.

    `free_a` (i, i) and `free_b` (j, j) are true where an element of the lower triangle varies; the
    others are zero. Cross-products with `cells` have a nested intercept as well. Raises
    numpy.linalg.LinAlgError where the likelihood has no finite value.
    """
    evaluations = 0
    cut, nested = int(free_a.sum()), products.cells is not None
    end = cut + int(free_b.sum())
    free = [free_a, free_b, *([np.ones((1, 1), dtype=bool)] if nested else [])]
    diagonal = np.concatenate([np.eye(len(f), dtype=bool)[f] for f in free])

    def triangles(theta: np.ndarray) -> tuple[np.ndarray, ...]:
        La, Lb = np.zeros(free_a.shape), np.zeros(free_b.shape)
        La[free_a], Lb[free_b] = theta[:cut], theta[cut:end]
        return La, Lb, theta[end:].reshape(-1, 1)

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        La, Lb, t = triangles(theta)
        at = solve(products, La, Lb, t.item() if nested else 0.0)
        by_t = [at.by_t] if nested else []
        return at.deviance, np.concatenate([at.by_La[free_a], at.by_Lb[free_b], by_t])

    start, inverse = by_moments(products, free)
    best = _newton(value_and_gradient, *_approach(value_and_gradient, start, inverse))
    sure = np.abs(best.theta[diagonal]) > INSIDE * best.se[diagonal]
    if not sure.all() or best.gain > TOLERANCE:
        margin = 10 * TOLERANCE  # the first of them goes further than the start from moments did
        for size in STARTS:
            found = _descend(value_and_gradient, np.where(diagonal, size, 0.0))
            if found[1] < best.value + margin:
                best = _newton(value_and_gradient, *found)
            if not best.saddle and min(map(_least_diagonal, triangles(best.theta))) > SINGULAR:
                break
            margin = -10 * TOLERANCE
    # A column of zeros is stationary even where its effect varies: step off it, one at a time.
    for _ in range(diagonal.sum()):
        if not best.saddle:
            break
        found = _descend(value_and_gradient, best.theta + 0.05 * best.direction)
        point = _newton(value_and_gradient, *found)
        if point.value < best.value:
            best = point
    La, Lb, t = (L * np.where(np.diagonal(L) < 0, -1.0, 1.0) for L in triangles(best.theta))
    return Optimum(
        La=La + 0.0,  # no negative zeros
        Lb=Lb + 0.0,
        deviance=float(best.value),
        gain=float(best.gain),
        curvature=best.curvature,
        evaluations=evaluations,
        converged=best.gain <= TOLERANCE and not best.saddle,
        singular=min(map(_least_diagonal, (La, Lb, t))) < SINGULAR,
        t=float(t.sum()),
    )


def descend(
    products: Products,
    free_a: np.ndarray,
    free_b: np.ndarray,
    La: np.ndarray,
    Lb: np.ndarray,
    gain: float = 1e-10,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return deviance, La and Lb that a descent ends at, for a model without nesting.

    Less than a search: one start, no check of convergence; enough to compare models. It ends where a
    step lowers the deviance by less than `gain` of it.
    """
    cut = int(free_a.sum())

    def triangles(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        A, B = np.zeros(free_a.shape), np.zeros(free_b.shape)
        A[free_a], B[free_b] = theta[:cut], theta[cut:]
        return A, B

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        at = solve(products, *triangles(theta))
        return at.deviance, np.concatenate([at.by_La[free_a], at.by_Lb[free_b]])

    # A column of zeros would stay one, whether or not its effect varies.
    starts = [L + np.diag(np.where(np.abs(np.diagonal(L)) < 0.02, 0.02, 0.0)) for L in (La, Lb)]
    start = np.concatenate([starts[0][free_a], starts[1][free_b]])
    theta, value, _ = _descend(value_and_gradient, start, gain)
    return float(value), *triangles(theta)


def by_moments(products: Products, free: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return theta of each factor as if alone (q,), and the inverse of its expected Hessian (q, q)."""
    q = len(products.ww)
    parts = [(products.aa, products.aw), (products.bb, products.bw)]
    if products.cells is not None:
        pairs = products.cells[products.cells[:, :, 0] > 0]
        parts.append((pairs[:, 0, None, None], pairs[:, None, -q:]))
    found = [
        (alone(zz, zw, products.ww, products.n, of_factor), of_factor)
        for (zz, zw), of_factor in zip(parts, free, strict=True)
        if len(of_factor)
    ]
    # Each factor's residuals hold the others' effects; the smallest sd is nearest to sigma.
    sigma = min(by_itself.sigma for by_itself, _ in found)
    theta = [by_itself.L[of_factor] * by_itself.sigma / sigma for by_itself, of_factor in found]
    inverse = [np.linalg.pinv(f.information, FLAT) * (f.sigma / sigma) ** 2 for f, _ in found]
    return np.concatenate(theta), block_diag(*inverse)


def _approach(
    function: Function, theta: np.ndarray, inverse: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Go from `theta` to within NEAR of a minimum by BFGS; `inverse` is a guess at the Hessian's.

    Returns theta, the deviance and its gradient.
    """
    value, gradient = function(theta)
    for _ in range(100):
        step = -inverse @ gradient
        if -step @ gradient < 2 * NEAR:
            break
        for _ in range(20):
            after, gradient_after = function(theta + step)
            slope = step @ gradient
            if after <= value + 1e-4 * slope:
                break
            step = step * np.clip(-slope / (2 * (after - value - slope)), 0.1, 0.5)
        else:
            break
        change = gradient_after - gradient
        along = step @ change
        if along > 1e-8 * np.linalg.norm(step) * np.linalg.norm(change):
            turn = np.eye(len(step)) - np.outer(step, change) / along
            inverse = turn @ inverse @ turn.T + np.outer(step, step) / along
        theta, value, gradient = theta + step, after, gradient_after
    return theta, value, gradient


def _descend(
    function: Function, start: np.ndarray, gain: float = 1e-13
) -> tuple[np.ndarray, float, np.ndarray]:
    """Search from `start` by L-BFGS; return theta, the deviance and its gradient.

    It ends where a step lowers the deviance by less than `gain` of it.
    """
    options = {"maxiter": 2000, "maxfun": 5000, "ftol": gain, "gtol": 1e-4, "maxcor": 30}
    found = minimize(function, start, jac=True, method="L-BFGS-B", options=options)
    return found.x, found.fun, found.jac


def _newton(function: Function, theta: np.ndarray, value: float, gradient: np.ndarray) -> _Point:
    """End a search with Newton steps; the Hessian comes from differences of the gradient."""
    for _ in range(3):
        values, vectors = np.linalg.eigh(_hessian(function, theta, gradient))
        # Directions without curvature (of an effect whose variance is zero) are left alone.
        limit = FLAT * values[-1]
        curved = values > limit
        along = vectors.T @ gradient
        gain = 0.5 * float(np.sum(along[curved] ** 2 / values[curved]))
        step = -vectors[:, curved] @ (along[curved] / values[curved])
        after, gradient_after = function(theta + step)
        if after > value + 1e-12 * abs(value):
            break
        before = gain
        theta, value, gradient = theta + step, after, gradient_after
        along = vectors.T @ gradient
        gain = 0.5 * float(np.sum(along[curved] ** 2 / values[curved]))
        if gain <= 0.01 * TOLERANCE or gain > 0.1 * before:
            break
    curvature = float(values[0])
    saddle = curvature < -max(limit, 0.01)
    se = np.sqrt(2 * (vectors**2 @ (1 / values))) if curved.all() else np.full(len(theta), np.inf)
    return _Point(theta, value, gain, curvature, vectors[:, 0], saddle, se)


def _hessian(function: Function, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    rows, step = [], 1e-5
    for element in range(len(theta)):
        moved = theta.copy()
        moved[element] += step
        rows.append((function(moved)[1] - gradient) / step)
    return (np.array(rows) + np.array(rows).T) / 2


def _least_diagonal(L: np.ndarray) -> float:
    return float(np.abs(np.diagonal(L)).min(initial=np.inf))
