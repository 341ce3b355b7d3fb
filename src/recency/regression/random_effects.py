"""Search for the structure of the random effects, as Clark et al. (2025, Section 4.4) did.

Start at the maximal structure (Barr et al. 2013) and drop random slopes until the model converges:
each step drops the slope whose loss costs least log-likelihood on the fit partition. All models are
searched on the cross-products of the maximal one; intercepts stay.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from crosslmm.cross_products import Products, select_columns
from crosslmm.factors import Factor, crossed_factors
from crosslmm.formula import INTERCEPT, Formula, RandomTerm, parse
from crosslmm.recorded import scaled
from crosslmm.scaled_search import products_of
from crosslmm.theta_search import SINGULAR, search, triangle
from recency.figures import tables
from recency.figures.tables import Cell, Table
from recency.regression import designs
from recency.regression.estimation import prepared
from recency.regression.inputs import Inputs, read_data
from recency.regression.predictor_names import quoted

COLUMNS = [
    *("step", "dropped", "group", "loss", "chosen", "loglik", "parameters"),
    *("converged", "singular", "formula"),
]


@dataclass
class Structure:
    """The column indices that each of two factors still has, and the model fitted with them."""

    kept: tuple[tuple[int, ...], ...]
    deviance: float
    La: np.ndarray
    Lb: np.ndarray
    converged: bool
    singular: bool


def main(
    inputs: Inputs,
    out: Iterable[str | PathLike],
    *,
    design: Mapping[str, Any],
    title: str = "The random effects' structure",
    maximal: str | None = None,
    singular: bool = False,
) -> None:
    """Write the path as a table (.csv, .html and .tex of `out`), one row per model that was tried.

    `maximal` has the random terms of the first model, such as "(1 + length | subject) + (1 |
    sentence)". Without it every fixed effect of the design varies by each of its grouping factors.
    With `singular`, a singular fit (a variance of zero or a correlation of one) counts as
    converged.
    """
    designs.check_mixed(design, "the search for random effects")
    if maximal is not None:
        random = random_of(designs.read(design), maximal)
        design = {**design, "formula": str(replace(designs.read(design), random=random))}
    data = read_data(inputs, design, "full")
    rows = data.fit
    formula, scaling, _ = prepared(data.formula, data.texts, rows, data.coding)
    if maximal is None:
        formula = maximal_of(formula)
    factors = crossed_factors(formula)
    factors.sort(key=lambda f: -len(f.columns) * len(rows.groups[f.group].names))
    predictors = scaled(rows.predictors, scaling)
    products = products_of(formula, factors, predictors, rows.y, rows.groups)
    path = pd.DataFrame(search_path(formula, factors, products, singular), columns=COLUMNS)
    tables.write(out, path_table(path, title, singular), path)


def random_of(formula: Formula, maximal: str) -> tuple[RandomTerm, ...]:
    """Read random terms such as "(1 + length | subject)"."""
    return parse(quoted(f"{formula.response} ~ 1 + {maximal}")).random


def maximal_of(formula: Formula) -> Formula:
    """Return the formula in which every fixed effect varies by each of its grouping factors."""
    groups = dict.fromkeys(term.group for term in formula.random if ":" not in term.group)
    return replace(formula, random=tuple(RandomTerm(formula.fixed, group) for group in groups))


def search_path(
    formula: Formula, factors: list[Factor], products: Products, singular: bool
) -> list[dict[str, Any]]:
    """Return the rows of the path; the first is the maximal structure, the last the result."""
    columns = tuple(factor.columns for factor in factors)
    everything = tuple(tuple(range(len(names))) for names in columns)
    kept = (*everything, ()) if len(everything) == 1 else everything
    start = (0.1 * np.eye(len(columns)) for columns in kept)
    at = _structure(products, kept, _descend(products, kept, *start))
    rows = [_row(0, formula, factors, at, None, 0.0)]
    _log(rows[-1])
    while not at.converged or (at.singular and not singular):
        step = rows[-1]["step"] + 1
        candidates = []
        for side, names in enumerate(columns):
            for index in at.kept[side]:
                if names[index] != INTERCEPT and len(at.kept[side]) > 1:
                    without = _descend(products, *_without(at, side, index))
                    candidates.append(((without[0] - at.deviance) / 2, side, index, without))
        if not candidates:
            break  # only intercepts are left, and the model does not converge
        candidates.sort(key=lambda candidate: candidate[:3])
        before = at.deviance
        _, side, index, without = candidates[0]
        at = _structure(products, _less(at.kept, side, index), without)
        for loss, of, column, _ in candidates[1:]:
            tried = {"step": step, "dropped": columns[of][column], "group": factors[of].group}
            rows.append(tried | {"loss": loss, "chosen": False})
        loss = (at.deviance - before) / 2
        rows.append(_row(step, formula, factors, at, (side, index), loss))
        _log(rows[-1])
    return rows


Point = tuple[float, np.ndarray, np.ndarray]
"""A deviance, with the La and Lb that attain it."""


def _descend(products: Products, kept: tuple, La: np.ndarray, Lb: np.ndarray) -> Point:
    free = (_free(len(columns)) for columns in kept)
    optimum = search(select_columns(products, *kept), *free, (La, Lb))
    return optimum.deviance, optimum.La, optimum.Lb


def _structure(products: Products, kept: tuple, point: Point) -> Structure:
    """Return the fit of a structure; only one that does not look singular is searched in full."""
    deviance, La, Lb = point
    least = np.abs(np.concatenate([np.diagonal(La), np.diagonal(Lb)])).min()
    if least < SINGULAR:
        return Structure(kept, deviance, La, Lb, True, True)
    optimum = search(select_columns(products, *kept), *(_free(len(columns)) for columns in kept))
    return Structure(
        kept, optimum.deviance, optimum.La, optimum.Lb, optimum.converged, optimum.singular
    )


def _without(at: Structure, side: int, index: int) -> tuple[tuple, np.ndarray, np.ndarray]:
    """Drop a column and refactor the covariance."""
    starts = [at.La, at.Lb]
    left = [row for row, column in enumerate(at.kept[side]) if column != index]
    starts[side] = triangle(starts[side][left])
    return _less(at.kept, side, index), *starts


def _less(kept: tuple, side: int, index: int) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(c for c in columns if (s, c) != (side, index)) for s, columns in enumerate(kept)
    )


def _free(k: int) -> np.ndarray:
    return np.tril(np.ones((k, k), dtype=bool))


def _row(
    step: int,
    formula: Formula,
    factors: list[Factor],
    at: Structure,
    dropped: tuple[int, int] | None,
    loss: float,
) -> dict[str, Any]:
    terms = tuple(
        RandomTerm(tuple(factor.columns[c] for c in at.kept[side]), factor.group)
        for side, factor in enumerate(factors)
    )
    order = [term.group for term in formula.random]
    terms = tuple(sorted(terms, key=lambda term: order.index(term.group)))
    return {
        "step": step,
        "dropped": factors[dropped[0]].columns[dropped[1]] if dropped else "",
        "group": factors[dropped[0]].group if dropped else "",
        "loss": loss if dropped else None,
        "chosen": True,
        "loglik": -at.deviance / 2,
        "parameters": sum(len(k) * (len(k) + 1) // 2 for k in at.kept) + len(formula.fixed) + 1,
        "converged": at.converged,
        "singular": at.singular,
        "formula": str(replace(formula, random=terms)),
    }


def _log(row: Mapping[str, Any]) -> None:
    what = f"without {row['dropped']} by {row['group']}" if row["dropped"] else "maximal"
    end = "singular" if row["singular"] else "converged" if row["converged"] else "not converged"
    print(f"step {row['step']}: {what}: logLik {row['loglik']:.2f}, {end}", flush=True)


def path_table(path: pd.DataFrame, title: str, singular: bool) -> Table:
    """Return the path as a table: the steps, and the alternatives that each step rejected."""
    rows, steps = [], path[path.chosen.astype(bool)]
    for row in steps.itertuples(index=False):
        others = path[(path.step == row.step) & ~path.chosen.astype(bool)].sort_values("loss")
        tried = tuple(f"{o.dropped} by {o.group}: {o.loss:,.2f}" for o in others.itertuples())
        what = f"{row.dropped} by {row.group}" if row.dropped else "nothing: the maximal structure"
        rows.append(
            [
                Cell(str(row.step)),
                Cell(what, left=True),
                Cell(f"{row.loss:,.2f}" if row.dropped else ""),
                Cell(f"{row.loglik:,.2f}"),
                Cell(str(row.parameters)),
                Cell("yes" if row.converged else "no"),
                Cell("yes" if row.singular else "no"),
                Cell("; ".join(tried), left=True),
            ]
        )
    header = [Cell("Step"), Cell("Dropped", left=True), Cell("costs"), Cell("logLik")]
    header += [Cell("parameters"), Cell("converged"), Cell("singular")]
    header.append(Cell("might have dropped, at a cost of", left=True))
    last = steps.iloc[-1]
    reached = last.converged and (singular or not last.singular)
    notes = [
        f"the structure found: {last.formula}"
        if reached
        else f"no structure converged; the last one: {last.formula}",
        "costs: log-likelihood that the fit partition loses; each step drops the least predictive "
        "slope, until the model converges"
        + ("" if singular else " at a point that is not singular"),
    ]
    return Table(title, [header], rows, notes)
