"""Sum a model's cross-products over the rows of its data, block by block."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from crosslmm.cross_products import Block, Products, cross_products, drop_dependent
from crosslmm.deviance import Solution
from crosslmm.factors import Factor, NotSearchable, nested_group
from crosslmm.formula import INTERCEPT, Formula, column
from crosslmm.levels import Levels

ROWS = 65_536
"""Number of rows per block of cross-products."""
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
    for start in range(0, len(y), ROWS):
        rows = slice(start, start + ROWS)
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
