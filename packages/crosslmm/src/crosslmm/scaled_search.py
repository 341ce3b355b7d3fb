"""The search for theta of a model on the internal scale (crosslmm.internal).

Cross-products of unscaled columns (years, milliseconds) lose half their digits. X is replaced by
X_s = X B, and each random term's Z by Z_s = Z A, with B and A invertible. The likelihood is the
same, and b = B b_s, L = A L_s.

Sum a model's cross-products over the rows of its data, block by block.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from crosslmm.cross_products import Block, Products, cross_products, drop_dependent
from crosslmm.deviance import ROUNDING, Solution, left_of_squares, nested_modes, solve
from crosslmm.expressions import split_product
from crosslmm.factors import (
    Factor,
    Levels,
    NotSearchable,
    all_factors,
    crossed_factors,
    joined,
    nested_group,
)
from crosslmm.formula import INTERCEPT, Formula, column
from crosslmm.internal import Figures, Internal, in_given_units
from crosslmm.several import (
    SeveralProducts,
    SeveralSolution,
    several_products,
    several_squares_left,
    solve_several,
)
from crosslmm.summary import FitSummary
from crosslmm.theta_search import Optimum, gain_at, other_starts, search, search_several
from crosslmm.theta_search import blocks_of as blocks_in

ROWS = 65_536
"""Least number of rows per block of cross-products."""
CELLS = 250_000_000
"""Largest number of elements of a search's arrays; above it lme4's optimiser is used: 2 GB."""
SMALL = 1_000_000
"""Number of elements up to which Z_a'Z_b is always dense."""
FILLED = 0.1
"""Share of nonempty cells above which Z_a'Z_b is dense if memory allows, since it is faster."""


def products_of(
    formula: Formula,
    crossed: list[Factor],
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None = None,
) -> Products:
    """Sum the cross-products of data; linearly dependent columns of X are dropped.

    A row's residual variance is sigma^2 / `weights` (n,), 1 by default: rows are multiplied by the
    root of their weight. Raises NotSearchable if there are too many levels.
    """
    nested = nested_group(formula) is not None
    G, i = len(groups[crossed[0].group].names), len(crossed[0].columns)
    H, j = 1, 0
    if len(crossed) > 1:
        H, j = len(groups[crossed[1].group].names), len(crossed[1].columns)
    within = 2 + i + j + len(formula.fixed) if nested else 0
    if max(G * H * within, (H * j) ** 2) > CELLS:
        raise NotSearchable(f"{G} x {H} levels are too many for cross-products")
    blocks = blocks_of(formula, crossed, predictors, y, groups, weights)
    sparse = not nested and G * H * i * j > SMALL
    products = cross_products(blocks, G, H, nested, sparse)
    if sparse:
        filled, whole = len(products.ab.cells), G * H
        if filled * i * j > CELLS:
            raise NotSearchable(f"{filled} pairs of levels are too many for cross-products")
        if filled > FILLED * whole and whole * i * j <= CELLS:
            products.ab = products.ab.whole()
    return drop_dependent(products)


def blocks_of(
    formula: Formula,
    crossed: list[Factor],
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None = None,
) -> Iterator[Block]:
    """Divide data into blocks, with rows multiplied by the roots of their weights.

    With an intercept, y is centred: the fit is the same, and its residuals more precise.
    """
    mean = y.mean() if INTERCEPT in formula.fixed else 0.0
    a, b = (*crossed, None)[:2]
    # A block has as many rows as there are levels, since its sums are as long as these.
    size = max(ROWS, *(len(groups[factor.group].names) for factor in crossed))
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        part, n = {name: values[rows] for name, values in predictors.items()}, len(y[rows])
        X, left = _matrix(formula.fixed, part, n), y[rows] - mean
        Za, Zb = _matrix(a.columns, part, n), _matrix(b.columns if b else (), part, n)
        root = None
        if weights is not None:
            root = np.sqrt(weights[rows])
            X, left, Za, Zb = X * root[:, None], left * root, Za * root[:, None], Zb * root[:, None]
        yield Block(
            X=X,
            y=left,
            a=groups[a.group].codes[rows],
            Za=Za,
            b=groups[b.group].codes[rows] if b else np.zeros(n, dtype=int),
            Zb=Zb,
            root=root,
        )


def _matrix(names: tuple[str, ...], predictors: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """Return columns of the model, (n, names)."""
    return np.array([column(c, predictors, n) for c in names]).reshape(len(names), n).T


def squares_left(
    blocks: Iterable[Block],
    kept: tuple[int, ...],
    at: Solution,
    of_pairs: np.ndarray | None = None,
) -> float:
    """Return the rows' sum of squared residuals under a model solved on cross-products.

    `kept` are the columns of X that were not dropped; `of_pairs` (G, H) are the nested modes.
    """
    total = 0.0
    for block in blocks:
        left = block.y - block.X[:, list(kept)] @ at.beta
        for codes, Z, modes in ((block.a, block.Za, at.modes_a), (block.b, block.Zb, at.modes_b)):
            for c in range(Z.shape[1]):
                left -= Z[:, c] * modes[codes, c]
        if of_pairs is not None:
            modes = of_pairs[block.a, block.b]
            left -= modes if block.root is None else block.root * modes
        total += float(left @ left)
    return total


AGREEMENT = 1e-8
"""Largest relative difference between residual squares from rows and from cross-products."""


@dataclass
class SearchResult:
    """The result of a search: the optimum, and each factor's columns and L by grouping variable.

    The cross-products are those of a, the factor with the larger part of the system, and b.
    """

    factors: list[Factor]
    nested: str | None
    optimum: Optimum
    products: Products | SeveralProducts
    of_pairs: np.ndarray | None
    """the conditional modes (G, H) of the nested intercept"""
    apart: float = 0.0
    """relative difference between residual squares from rows and from cross-products"""

    @property
    def solution(self) -> Solution | SeveralSolution:
        """The model at the optimum."""
        return self.optimum.solution

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
        at, t = self.solution, self.optimum.t
        if t:
            squares += float((self.of_pairs**2).sum()) / t**2
        by_rows, by_sums = squares + at.penalty, at.squares
        rounding = ROUNDING * self.products.ww[-1, -1]  # matters if there are almost no residuals
        self.apart = max(abs(by_rows - by_sums) - rounding, 0.0) / by_rows
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


Rows = tuple[Formula, list[Factor], Mapping[str, np.ndarray], np.ndarray, Mapping[str, Levels], Any]
"""Formula, factors, predictors, response, groups and weights."""


def _sums(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None,
    reml: bool,
) -> tuple[Products | SeveralProducts, str | None, Rows]:
    """Return the cross-products of data, the nested group, and the rows by factors."""
    # The factor with the larger part of the system is eliminated, the smaller one factored.
    try:
        factors = crossed_factors(formula)
    except NotSearchable:
        factors = all_factors(formula)
        sizes = {f.group: len(f.columns) * len(joined(f.group, groups).names) for f in factors}
        factors.sort(key=lambda factor: -sizes[factor.group])
        rows = formula, factors, predictors, y, groups, weights
        products, nested = several_products(*rows), None
    else:
        factors.sort(key=lambda f: -len(f.columns) * len(groups[f.group].names))
        rows = formula, factors, predictors, y, groups, weights
        products, nested = products_of(*rows), nested_group(formula)
    left_of_squares(products.ww, products.ww[-1, -1])  # raises if X alone explains everything
    return replace(products, reml=reml), nested, rows


def search_theta(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None = None,
    reml: bool = False,
) -> SearchResult:
    """Search theta on cross-products; a row's residual variance is sigma^2 / `weights` (n,).

    With `reml`, the restricted likelihood is maximised.

    Raises NotSearchable if the search does not cover the model, NoResiduals, and
    numpy.linalg.LinAlgError if its likelihood has no finite value.
    """
    products, nested, rows = _sums(formula, predictors, y, groups, weights, reml)
    free = [factor.free for factor in rows[1]]
    if isinstance(products, SeveralProducts):
        optimum = _best(search_several, formula, products, free, free)
        result = SearchResult(rows[1], None, optimum, products, None)
        result.check(several_squares_left(*rows[:5], products, optimum.solution, weights))
        return result
    free += [np.zeros((0, 0), dtype=bool)] * (2 - len(free))
    every = [*free, *([np.ones((1, 1), dtype=bool)] if nested else [])]
    optimum = _best(
        lambda sums, _, *start: search(sums, *free, *start), formula, products, free, every
    )
    at = optimum.solution
    of_pairs = nested_modes(products, at, optimum.t) if nested else None
    result = SearchResult(rows[1], nested, optimum, products, of_pairs)
    result.check(squares_left(blocks_of(*rows), products.kept, at, of_pairs))
    return result


def _best(
    search: Callable[..., Optimum],
    formula: Formula,
    products: Products | SeveralProducts,
    free: list[np.ndarray],
    every: list[np.ndarray],
) -> Optimum:
    """Return the optimum; without an intercept, the best from several starts.

    `every` has the free elements of all factors, the nested intercept included.
    """
    best = search(products, free)
    if INTERCEPT not in formula.fixed and len(formula.random) > 1:
        for start in other_starts(products, every):
            other = search(products, free, start)
            best = other if other.deviance < best.deviance else best
    return best


@dataclass
class Searched:
    """A model on the internal scale, and the optimum of its search."""

    model: Internal
    result: SearchResult
    groups: Mapping[str, Levels]
    """by the names of the search's factors"""

    @property
    def deviance(self) -> float:
        """Minus twice the log-likelihood on the internal scale."""
        weights = self.model.weights
        return self.result.optimum.deviance - (0.0 if weights is None else np.log(weights).sum())

    @property
    def A(self) -> list[np.ndarray]:
        """The matrix of each factor that takes its effects to the given columns, b = A b_s."""
        parts: dict[str, list[np.ndarray]] = {}
        for group, basis in zip(self.model.scale.groups, self.model.scale.random, strict=True):
            parts.setdefault(group.strip("`"), []).append(basis.B)
        names = [factor.group.strip("`") for factor in self.result.factors]
        return [block_diag(*parts[g]) if g in parts else np.zeros((0, 0)) for g in names]

    @property
    def B(self) -> np.ndarray:
        """The matrix that takes the fixed effects to the given columns, without dropped ones."""
        kept = list(self.kept)
        return self.model.scale.fixed.B[np.ix_(kept, kept)]

    @property
    def kept(self) -> tuple[int, ...]:
        """The given fixed columns that are kept."""
        given = self.model.scale.fixed.kept
        return tuple(given[c] for c in self.result.products.kept)

    @property
    def Ls(self) -> list[np.ndarray]:
        """L of each random term."""
        blocks = self.result.blocks()
        Ls = []
        for group, places in self._places():
            _, L = blocks[group]
            Ls.append(L[np.ix_(places, places)])
        return Ls

    @property
    def figures(self) -> Figures:
        """The figures of the fit."""
        at = self.result.solution
        beta = at.beta.copy()
        if INTERCEPT in self.model.formula.fixed:  # the search centres the response
            beta[0] += float(self.model.y.mean())
        half = np.linalg.solve(at.root, np.eye(len(beta)))
        modes = dict(zip((f.group for f in self.result.factors), at.modes, strict=False))
        if self.result.nested:
            modes[self.result.nested] = self._nested_modes()
        return Figures(
            beta=beta,
            covariance=at.sigma**2 * half.T @ half,
            sigma=at.sigma,
            loglik=-self.deviance / 2,
            Ls=self.Ls,
            modes=[modes[group][:, places] for group, places in self._places()],
            singular=self.result.optimum.singular,
            converged=self.result.optimum.converged,
            kept=self.kept,
        )

    def summary(self) -> FitSummary:
        """Return the summary in the given units."""
        model = self.model
        return in_given_units(
            model.scale, self.figures, model.groups, model.reml, rows=len(model.y)
        )

    def _places(self) -> list[tuple[str, list[int]]]:
        """Return the group of each random term, and its columns' places among its factor's."""
        blocks, places = self.result.blocks(), []
        taken: dict[str, int] = {}
        for group, basis in zip(self.model.scale.groups, self.model.scale.random, strict=True):
            name = group if group in blocks else f"`{group}`"
            start = taken.get(name, 0)
            taken[name] = start + len(basis.columns)
            places.append((name, list(range(start, taken[name]))))
        return places

    def _nested_modes(self) -> np.ndarray:
        """Return the modes (levels, 1) of the nested intercept, for the pairs that occur."""
        first, _ = split_product(self.result.nested or "")
        occur, values = self.result.products.cells[:, :, 0] > 0, self.result.of_pairs
        if first != self.result.factors[0].group:
            occur, values = occur.T, values.T
        return values[occur][:, None]


def search_internal(model: Internal) -> Searched:
    """Search theta of a model on the internal scale; raises the errors of search_theta()."""
    with np.errstate(all="ignore"):  # a model without residuals raises its own error
        arguments = _arguments(model)
        return Searched(model, search_theta(*arguments), arguments[3])


def evaluate_internal(model: Internal, Ls: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the deviance at L (k, k) of each random term, and the gain expected of a step there.

    Raises the errors of search_theta().
    """
    products, by_factor, free = products_at(model, Ls)
    if isinstance(products, SeveralProducts):
        at: Solution | SeveralSolution = solve_several(products, by_factor)
        deviance, by_S = at.deviance, at.by_S
    else:
        at = solve(products, *by_factor[:2], by_factor[2].item() if len(by_factor) > 2 else 0.0)
        deviance, by_S = at.deviance, [at.by_Sa, at.by_Sb, np.array([[at.by_tt]])][: len(free)]
    if model.weights is not None:
        deviance -= float(np.log(model.weights).sum())
    return deviance, gain_at(blocks_in(free), by_factor, by_S, products.zz())


def products_at(
    model: Internal, Ls: Sequence[np.ndarray]
) -> tuple[Products | SeveralProducts, list[np.ndarray], list[np.ndarray]]:
    """Return the cross-products, and L of each of their factors and its free elements.

    `Ls` are L (k, k) of each random term. Raises the errors of search_theta().
    """
    products, nested, rows = _sums(*_arguments(model))
    scale = model.scale
    by_factor = []
    for factor in rows[1]:
        parts = [
            L
            for group, L in zip(scale.groups, Ls, strict=True)
            if factor.group in (group, f"`{group}`")
        ]
        by_factor.append(block_diag(*parts) if parts else np.zeros((0, 0)))
    free = [factor.free for factor in rows[1]]
    if not isinstance(products, SeveralProducts):
        by_factor += [np.zeros((0, 0))] * (2 - len(free))
        free += [np.zeros((0, 0), dtype=bool)] * (2 - len(free))
        if nested:
            by_factor.append(np.atleast_2d(Ls[scale.groups.index(nested)]))
            free.append(np.ones((1, 1), dtype=bool))
    return products, by_factor, free


def _arguments(model: Internal) -> tuple[Any, ...]:
    """Return the arguments of search_theta()."""
    groups, formula = dict(model.groups), model.formula
    names = dict.fromkeys(term.group for term in formula.random)
    if model.nested_as_factors and len(names) <= 2:
        # A group a:b is a separate factor: backticks keep its name in one piece.
        for name in [group_name for group_name in names if len(split_product(group_name)) > 1]:
            groups[f"`{name}`"] = joined(name, groups)
            names[name] = f"`{name}`"
    random = tuple(replace(term, group=names[term.group] or term.group) for term in formula.random)
    formula = replace(formula, random=random)
    return formula, model.predictors, model.y, groups, model.weights, model.reml
