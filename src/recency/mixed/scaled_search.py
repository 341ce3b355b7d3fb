"""The search for theta of a formula, on original or on centred and scaled columns.

Cross-products of unscaled columns (years, milliseconds) lose half their digits. X is replaced by
X_s = X B, and each random term's Z by Z_s = Z A, with B and A invertible. The likelihood is the
same, and b = B b_s, L = A L_s.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag

from recency.mixed.cross_products import Products
from recency.mixed.deviance import ROUNDING, Solution, left_of_squares, nested_modes, solve
from recency.mixed.expressions import split_product
from recency.mixed.factors import (
    Factor,
    NotSearchable,
    all_factors,
    crossed_factors,
    nested_group,
)
from recency.mixed.formula import INTERCEPT, Formula, RandomTerm
from recency.mixed.levels import Levels, joined
from recency.mixed.several import (
    SeveralProducts,
    SeveralSolution,
    several_products,
    several_squares_left,
    solve_several,
)
from recency.mixed.sums import blocks_of, products_of, squares_left
from recency.mixed.theta_search import SINGULAR, Optimum, search, search_several, triangle

AGREEMENT = 1e-8
"""Largest relative difference between residual squares from rows and from cross-products."""
CONSTANT = 1e-7
"""A column is constant if its sd is below this share of its root mean square (qr's tolerance)."""


@dataclass
class SearchResult:
    """The result of a search: the optimum, and each factor's columns and L by grouping variable.

    The cross-products are those of a, the factor with the larger part of the system, and b.
    """

    factors: list[Factor]
    nested: str | None
    optimum: Optimum
    products: Products | SeveralProducts
    solution: Solution | SeveralSolution
    """the model at the optimum"""
    of_pairs: np.ndarray | None
    """the conditional modes (G, H) of the nested intercept"""

    @property
    def roots(self) -> list[np.ndarray]:
        """L of each factor of the cross-products, and the sd (1, 1) of the nested intercept."""
        Ls = self.optimum.Ls[: max(len(self.factors), 2)]
        return [*Ls, *([np.array([[self.optimum.t]])] if self.nested else [])]

    def check(self, squares: float) -> None:
        """Check the cross-products' precision against the rows' sum of squared residuals `squares`.

        At the optimum both give sigma, unless the cross-products have lost their digits. Raises
        NotSearchable.
        """
        at, n, t = self.solution, self.products.n, self.optimum.t
        if t:
            squares += float((self.of_pairs**2).sum()) / t**2
        by_rows, by_sums = squares + at.penalty, n * at.sigma**2
        rounding = ROUNDING * self.products.ww[-1, -1]  # matters if there are almost no residuals
        if not abs(by_rows - by_sums) <= AGREEMENT * by_rows + rounding:
            raise NotSearchable(
                f"its penalised squares are {by_rows!r} by the rows, {by_sums!r} by their sums"
            )

    def blocks(self) -> dict[str, tuple[Factor, np.ndarray]]:
        """Return factor and L of each grouping variable, including the nested one."""
        pairs = zip(self.factors, self.optimum.Ls, strict=False)
        by_group = {factor.group: (factor, L) for factor, L in pairs}
        if self.nested:
            free = np.ones((1, 1), dtype=bool)
            by_group[self.nested] = (
                Factor(self.nested, (INTERCEPT,), free),
                np.array([[self.optimum.t]]),
            )
        return by_group


def search_theta(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None = None,
) -> SearchResult:
    """Search theta on cross-products; a row's residual variance is sigma^2 / `weights` (n,).

    Raises NotSearchable if the search does not cover the model, NoResiduals, and
    numpy.linalg.LinAlgError if its likelihood has no finite value.
    """
    # The factor with the larger part of the system is eliminated, the smaller one factored.
    try:
        crossed = crossed_factors(formula)
    except NotSearchable:
        return _search_several(formula, predictors, y, groups, weights)
    crossed.sort(key=lambda f: -len(f.columns) * len(groups[f.group].names))
    data = formula, crossed, predictors, y, groups, weights
    products = products_of(*data)
    left_of_squares(products.ww, products.ww[-1, -1])  # raises if X alone explains everything
    nothing = np.zeros((0, 0), dtype=bool)
    optimum = search(products, crossed[0].free, crossed[1].free if len(crossed) > 1 else nothing)
    at, nested = solve(products, optimum.La, optimum.Lb, optimum.t), nested_group(formula)
    of_pairs = nested_modes(products, at, optimum.t) if nested else None
    result = SearchResult(crossed, nested, optimum, products, at, of_pairs)
    result.check(squares_left(blocks_of(*data), products.kept, result.solution, result.of_pairs))
    return result


def _search_several(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None,
) -> SearchResult:
    """Search theta of three or more factors, crossed or nested in any way."""
    factors = all_factors(formula)
    sizes = {f.group: len(f.columns) * len(joined(f.group, groups).names) for f in factors}
    factors.sort(key=lambda factor: -sizes[factor.group])
    products = several_products(formula, factors, predictors, y, groups, weights)
    left_of_squares(products.ww, products.ww[-1, -1])
    optimum = search_several(products, [factor.free for factor in factors])
    result = SearchResult(
        factors, None, optimum, products, solve_several(products, optimum.Ls[: len(factors)]), None
    )
    data = formula, factors, predictors, y, groups
    result.check(several_squares_left(*data, products, result.solution, weights))
    return result


@dataclass
class ScaledSearch:
    """A search on scaled columns, with the transformations to the original units."""

    formula: Formula
    groups: dict[str, Levels]
    result: SearchResult
    B: np.ndarray
    """for X, (p, p)"""
    A: list[np.ndarray]
    """for each factor, (k, k)"""
    mean: float
    """mean of the response, which is subtracted if there is an intercept"""
    log_weights: float = 0.0
    """sum of the logarithms of the weights, which the deviance of the weighted rows lacks"""

    @property
    def deviance(self) -> float:
        """Minus twice the log-likelihood of the response in its own units."""
        return self.result.optimum.deviance - self.log_weights

    def in_original_units(self) -> SearchResult:
        """Return the result with the columns' own names and theta in original units."""
        factors, ends = [], []
        optimum = self.result.optimum
        for factor, A, L in zip(self.result.factors, self.A, optimum.Ls, strict=False):
            columns = tuple(name.partition("|")[0] for name in factor.columns)
            factors.append(Factor(factor.group.strip("`"), columns, factor.free))
            ends.append(np.where(factor.free, triangle(A @ L), 0.0))
        ends += [optimum.Lb] * (2 - len(ends))
        diagonals = [element for L in ends for element in np.diagonal(L)]
        diagonals += [optimum.t] if self.result.nested else []
        first, second, *more = ends
        is_singular = min(diagonals) < SINGULAR
        optimum = replace(optimum, La=first, Lb=second, more=tuple(more), singular=is_singular)
        return replace(self.result, factors=factors, optimum=optimum)


def unscaled_search(
    formula: Formula, result: SearchResult, groups: Mapping[str, Levels], mean: float
) -> ScaledSearch:
    """Return a search on columns that were not scaled here; `mean` is the response's."""
    p, mean = len(formula.fixed), mean if INTERCEPT in formula.fixed else 0.0
    A = [np.eye(len(factor.columns)) for factor in result.factors]
    random = []
    for term in formula.random:  # uncorrelated columns become terms of their own, as in a design
        parts = [term.columns] if term.correlated else [(single,) for single in term.columns]
        random += [RandomTerm(part, term.group) for part in parts]
    formula = replace(formula, random=tuple(random))
    return ScaledSearch(formula, dict(groups), result, np.eye(p), A, mean)


def search_scaled(
    formula: Formula,
    columns: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None = None,
) -> ScaledSearch:
    """Search theta for columns (n,) by name; raises the errors of search_theta()."""
    groups, names = dict(groups), dict.fromkeys(term.group for term in formula.random)
    if len(names) <= 2:
        # A group a:b is a separate factor: backticks keep its name in one piece.
        for name in [group_name for group_name in names if len(split_product(group_name)) > 1]:
            groups[f"`{name}`"] = joined(name, groups)
            names[name] = f"`{name}`"
    scaled, B = scale_fixed(formula, columns)
    random, by_term = [], {}
    for number, term in enumerate(formula.random):
        values, A = scale_random(term, columns)
        labels = [c if c == INTERCEPT else f"{c}|{number}" for c in term.columns]
        scaled |= dict(zip(labels, values, strict=True))
        group = names[term.group] or term.group
        random.append(replace(term, columns=tuple(labels), group=group))
        by_term[group, tuple(labels)] = A
    model = replace(formula, random=tuple(random))
    result = search_theta(model, scaled, y, groups, weights)
    A = []
    for factor in result.factors:
        parts = [by_term[t.group, t.columns] for t in random if t.group == factor.group]
        A.append(block_diag(*parts) if parts else np.zeros((0, 0)))
    mean = float(y.mean()) if INTERCEPT in formula.fixed else 0.0
    log_weights = 0.0 if weights is None else float(np.log(weights).sum())
    return ScaledSearch(formula, groups, result, B, A, mean, log_weights)


def scale_fixed(
    formula: Formula, columns: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Centre and scale the columns of X; return them and B."""
    centred = INTERCEPT in formula.fixed
    scaled, B = {}, np.eye(len(formula.fixed))
    for c, name in enumerate(formula.fixed):
        values = columns[name]
        if name == INTERCEPT:
            scaled[name] = values
            continue
        mean, sd = _moments(values, centred)
        # A column of zeros is dropped later, as it depends on the intercept.
        scaled[name] = (values - mean) / sd if sd else np.zeros(len(values))
        if sd:
            B[c, c] = 1 / sd
            B[0, c] = -mean / sd if centred else B[0, c]
    return scaled, B


def scale_random(
    term: RandomTerm, columns: Mapping[str, np.ndarray]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Scale the columns of a random term, and centre them if it has an intercept; return A too."""
    values, A = [], np.eye(len(term.columns))
    centred = term.columns[0] == INTERCEPT
    for c, name in enumerate(term.columns):
        mean, sd = (0.0, 1.0) if name == INTERCEPT else _moments(columns[name], centred)
        mean, sd = (mean, sd) if sd else (0.0, 1.0)
        values.append((columns[name] - mean) / sd)
        A[c, c] = 1 / sd
        if c and centred:
            A[0, c] = -mean / sd
    return values, A


def _moments(values: np.ndarray, centred: bool) -> tuple[float, float]:
    """Return mean and sd of a column, or 0 and its root mean square; sd 0 for a constant one."""
    square = float(np.sqrt(np.mean(values**2)))
    if not centred:
        return 0.0, square
    mean, sd = float(values.mean()), float(values.std())
    return mean, sd if sd > CONSTANT * square else 0.0
