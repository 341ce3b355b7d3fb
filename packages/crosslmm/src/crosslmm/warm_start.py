"""The search for theta in bootstrap samples, from the optimum of all data.

The Hessian differs little between samples, so it is approximated once, at the optimum of all data,
and updated by BFGS in each search. Variances that are zero there start at their standard error,
since at zero the gradient by their square roots is zero as well (crosslmm.charts).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosslmm.charts import Chart, blocks_of
from crosslmm.cross_products import Products
from crosslmm.deviance import Solution, solve
from crosslmm.moments import bound_from_below, precision_at
from crosslmm.theta_search import gain_at, line_search, search, triangle, update_inverse

SLACK = 10.0
"""Factor of `enough` by which two approximations of the last step's gain may differ."""
EVALUATIONS = 15
"""Number of evaluations after which the ordinary search is used."""


@dataclass
class _Point:
    deviance: float
    Ls: list[np.ndarray]
    solution: Solution

    @property
    def by_S(self) -> list[np.ndarray]:
        return [self.solution.by_Sa, self.solution.by_Sb]


class WarmStart:
    """A search that starts from the optimum (La, Lb) of the cross-products of all data.

    Parameters
    ----------
    products
        Cross-products of all data, without `times_a` and `times_b`, or with ones.
    free_a, free_b
        True where an element of the lower triangle of La (i, i) and Lb (j, j) is free.
    La, Lb
        The optimum.
    """

    def __init__(
        self,
        products: Products,
        free_a: np.ndarray,
        free_b: np.ndarray,
        La: np.ndarray,
        Lb: np.ndarray,
    ) -> None:
        self._free = (free_a, free_b)
        self._zz = [products.aa, products.bb]
        self._blocks = blocks_of(self._free)
        starts = []
        for L, zz, free in zip((La, Lb), self._zz, self._free, strict=True):
            if len(L):
                L = np.linalg.cholesky(bound_from_below(L @ L.T, precision_at(zz, L), free))
            starts.append(L)
        self._chart = Chart(self._blocks, starts)
        there = self._at(products, self._chart.factors(self._chart.start))
        self._inverse = self._chart.inverse_hessian(self._chart.start, there.by_S, self._zz)

    def search(self, products: Products, enough: float) -> tuple[np.ndarray, np.ndarray, Solution]:
        """Return La, Lb and the solution of a sample at its optimum.

        The search ends when a step is expected to decrease the deviance by less than `enough`.
        Raises numpy.linalg.LinAlgError if the likelihood has no finite value.
        """
        point, ended = self._descend(products, enough)
        if not ended:
            optimum = search(products, *self._free, (point.Ls[0], point.Ls[1]), enough)
            return optimum.La, optimum.Lb, solve(products, optimum.La, optimum.Lb)
        La, Lb = (
            np.where(free, triangle(L), 0.0) for free, L in zip(self._free, point.Ls, strict=True)
        )
        return La, Lb, point.solution

    def _descend(self, products: Products, enough: float) -> tuple[_Point, bool]:
        """Descend by BFGS; return the last point, and whether it is an optimum."""
        evaluations = 0

        def at(Ls: Sequence[np.ndarray]) -> _Point:
            nonlocal evaluations
            evaluations += 1
            return self._at(products, Ls)

        chart, theta, inverse = self._chart, self._chart.start, self._inverse
        point = at(chart.factors(theta))
        gradient = chart.gradient(theta, point.by_S)
        while True:
            step = -inverse @ gradient
            slope = float(step @ gradient)
            if -slope / 2 <= enough:
                return point, self._gain(point) <= SLACK * enough
            if evaluations >= EVALUATIONS:
                return point, False
            lower = line_search(at, chart, theta, step, point.deviance, slope)
            if lower is None:
                return point, False
            before, theta, point = (theta, gradient), *lower
            gradient = chart.gradient(theta, point.by_S)
            inverse = update_inverse(inverse, theta - before[0], gradient - before[1])

    def _gain(self, point: _Point) -> float:
        """Return a step's expected decrease of the deviance, by the Hessian at the point itself."""
        return gain_at(self._blocks, point.Ls, point.by_S, self._zz)

    def _at(self, products: Products, Ls: Sequence[np.ndarray]) -> _Point:
        solution = solve(products, Ls[0], Ls[1])
        return _Point(solution.deviance, list(Ls), solution)
