"""Sums over the rows of a model's data: its cross-products, from memory or part by part."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from recency.mixed.cross_products import Block, Products, cross_products, independent
from recency.mixed.deviance import Solution
from recency.mixed.factors import Factor, NotSearchable, nested_group
from recency.mixed.formula import INTERCEPT, Formula, column
from recency.mixed.levels import Levels

ROWS = 65_536
"""Rows in a block while cross-products are summed."""
CELLS = 250_000_000
"""Elements of the largest array of a search above which lme4's optimiser takes over: 2 GB."""
SMALL = 1_000_000
"""Elements of Z_a'Z_b up to which it is held whole, however few of its cells are filled."""
FILLED = 0.1
"""Share of filled cells from which it is held whole where there is room: it is faster then."""

Part = tuple[Mapping[str, np.ndarray], np.ndarray, Mapping[str, np.ndarray]]
"""Some of the rows: scaled predictors by name, the response, the codes of each factor."""


def products_of(
    formula: Formula,
    crossed: list[Factor],
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
) -> Products:
    """Sum the cross-products of data in memory; columns of X that depend on others are left out."""
    sizes = {factor.group: len(groups[factor.group].names) for factor in crossed}
    return sum_products(formula, crossed, parts_of(formula, crossed, predictors, y, groups), sizes)


def parts_of(
    formula: Formula,
    crossed: list[Factor],
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
) -> Iterator[Part]:
    """Cut data in memory into parts; beside an intercept y is less its mean.

    It is the same fit, with more digits left for the residuals.
    """
    mean = y.mean() if INTERCEPT in formula.fixed else 0.0
    for start in range(0, len(y), ROWS):
        rows = slice(start, start + ROWS)
        yield (
            {name: values[rows] for name, values in predictors.items()},
            y[rows] - mean,
            {factor.group: groups[factor.group].codes[rows] for factor in crossed},
        )


def sum_products(
    formula: Formula, crossed: list[Factor], parts: Iterable[Part], sizes: Mapping[str, int]
) -> Products:
    """Sum the cross-products of rows that come part by part; `sizes` are the numbers of levels."""
    nested = nested_group(formula) is not None
    G, H = sizes[crossed[0].group], sizes[crossed[1].group] if len(crossed) > 1 else 1
    i, j = len(crossed[0].columns), len(crossed[1].columns) if len(crossed) > 1 else 0
    within = 2 + i + j + len(formula.fixed) if nested else 0
    if max(G * H * within, (H * j) ** 2) > CELLS:
        raise NotSearchable(f"{G} x {H} levels are too many for cross-products")
    blocks = (_block(formula, crossed, part) for part in parts)
    sparse = not nested and G * H * i * j > SMALL
    products = cross_products(blocks, G, H, nested, sparse)
    if sparse:
        filled, whole = len(products.ab.cells), G * H
        if filled * i * j > CELLS:
            raise NotSearchable(f"{filled} pairs of levels are too many for cross-products")
        if filled > FILLED * whole and whole * i * j <= CELLS:
            products.ab = products.ab.whole()
    return independent(products)


def squares_left(
    formula: Formula,
    crossed: list[Factor],
    parts: Iterable[Part],
    kept: tuple[int, ...],
    at: Solution,
    of_pairs: np.ndarray | None = None,
) -> float:
    """Return the sum of squared residuals of the rows themselves, under a model solved on their sums.

    `kept` are the columns of X that were not left out; `of_pairs` (G, H) the nested modes.
    """
    total = 0.0
    for part in parts:
        block = _block(formula, crossed, part)
        left = block.y - block.X[:, list(kept)] @ at.beta
        for codes, Z, modes in ((block.a, block.Za, at.modes_a), (block.b, block.Zb, at.modes_b)):
            for c in range(Z.shape[1]):
                left -= Z[:, c] * modes[codes, c]
        if of_pairs is not None:
            left -= of_pairs[block.a, block.b]
        total += float(left @ left)
    return total


def _block(formula: Formula, crossed: list[Factor], part: Part) -> Block:
    predictors, y, codes = part
    a, b = crossed[0], crossed[1] if len(crossed) > 1 else None

    def matrix(columns: tuple[str, ...]) -> np.ndarray:
        values = np.array([column(c, predictors, len(y)) for c in columns])
        return values.reshape(len(columns), len(y)).T

    return Block(
        X=matrix(formula.fixed),
        y=y,
        a=codes[a.group],
        Za=matrix(a.columns),
        b=codes[b.group] if b else np.zeros(len(y), dtype=int),
        Zb=matrix(b.columns if b else ()),
    )
