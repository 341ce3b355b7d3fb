"""The search for theta of a formula on data in memory."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recency.mixed.cross_products import Products
from recency.mixed.deviance import ROUNDING, Solution, left_of_squares, nested_modes, solve
from recency.mixed.factors import Factor, NotSearchable, crossed_factors, nested_group
from recency.mixed.formula import INTERCEPT, Formula
from recency.mixed.levels import Levels
from recency.mixed.sums import parts_of, products_of, squares_left
from recency.mixed.theta_search import Optimum, search

AGREEMENT = 1e-8
"""Relative difference between the squares of the rows and of their sums above which these are out."""


@dataclass
class Found:
    """What a search ended at: the optimum, and each factor's columns and L by grouping variable.

    The cross-products are those of a, the factor with the larger part of the system, and b.
    """

    factors: list[Factor]
    nested: str | None
    optimum: Optimum
    products: Products
    solution: Solution
    """the model at the optimum"""
    of_pairs: np.ndarray | None
    """the conditional modes (G, H) of the nested intercept"""

    def check(self, squares: float) -> None:
        """Hold the residuals of the rows, whose squares sum to `squares`, against the cross-products'.

        At the optimum both give sigma; sums that had lost their digits would not. Raises
        NotSearchable.
        """
        at, n, t = self.solution, self.products.n, self.optimum.t
        if t:
            squares += float((self.of_pairs**2).sum()) / t**2
        by_rows, by_sums = squares + at.penalty, n * at.sigma**2
        rounding = ROUNDING * self.products.ww[-1, -1]  # all that is left where nothing else is
        if not abs(by_rows - by_sums) <= AGREEMENT * by_rows + rounding:
            raise NotSearchable(
                f"its penalised squares are {by_rows!r} by the rows, {by_sums!r} by their sums"
            )

    def blocks(self) -> dict[str, tuple[Factor, np.ndarray]]:
        """Return factor and L of each grouping variable, the nested one included."""
        ends = (self.optimum.La, self.optimum.Lb)
        found = {f.group: (f, L) for f, L in zip(self.factors, ends, strict=False)}
        if self.nested:
            free = np.ones((1, 1), dtype=bool)
            found[self.nested] = (
                Factor(self.nested, (INTERCEPT,), free),
                np.array([[self.optimum.t]]),
            )
        return found


def search_theta(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
) -> Found:
    """Search theta on cross-products.

    Raises NotSearchable where the search does not cover the model, NoResiduals, and
    numpy.linalg.LinAlgError where its likelihood has no finite value.
    """
    # The factor with the larger part of the system is eliminated, the smaller one factored.
    crossed = crossed_factors(formula)
    crossed.sort(key=lambda f: -len(f.columns) * len(groups[f.group].names))
    products = products_of(formula, crossed, predictors, y, groups)
    left_of_squares(products.ww, products.ww[-1, -1])  # raises where X alone explains all
    nothing = np.zeros((0, 0), dtype=bool)
    optimum = search(products, crossed[0].free, crossed[1].free if len(crossed) > 1 else nothing)
    found = ended(crossed, nested_group(formula), optimum, products)
    left = squares_left(
        formula,
        crossed,
        parts_of(formula, crossed, predictors, y, groups),
        products.kept,
        found.solution,
        found.of_pairs,
    )
    found.check(left)
    return found


def ended(factors: list[Factor], nested: str | None, optimum: Optimum, products: Products) -> Found:
    """Solve the model at an optimum."""
    at = solve(products, optimum.La, optimum.Lb, optimum.t)
    of_pairs = nested_modes(products, at, optimum.t) if nested else None
    return Found(factors, nested, optimum, products, at, of_pairs)
