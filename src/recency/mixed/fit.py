"""One mixed model: theta searched on cross-products, then lme4 has the last word."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recency.mixed import lme4
from recency.mixed.cross_products import Block, Products, cross_products, independent
from recency.mixed.formula import INTERCEPT, Formula, column, factors
from recency.mixed.lme4 import Refused, Told
from recency.mixed.theta_search import Optimum, search
from recency.regression.predictors import Levels

AGREEMENT = 1e-6
"""Relative difference between our deviance and lme4's at the same theta above which ours is out."""
ROWS = 65_536
"""Rows in a block while cross-products are summed."""
CELLS = 50_000_000
"""Elements of the largest array of cross-products above which lme4's optimiser takes over."""

Part = tuple[Mapping[str, np.ndarray], np.ndarray, Mapping[str, np.ndarray]]
"""Some of the rows: scaled predictors by name, the response, the codes of each factor."""


class NotSearchable(ValueError):
    """A model that the search on cross-products does not cover; the message says why."""


@dataclass(frozen=True)
class Factor:
    """A grouping variable with the columns of all its terms and what varies in its L (k, k)."""

    group: str
    columns: tuple[str, ...]
    free: np.ndarray


@dataclass
class Result:
    """A fitted model, or the reason why there is none; `model` is the merMod object in R."""

    told: Told | None
    converged: bool
    note: str
    model: Any = None
    optimum: Optimum | None = None


def fit_model(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    engine: str,
) -> Result:
    """Fit by maximum likelihood; `engine` is `cross_products` or `lme4`.

    `predictors` and `y` have one element per observation. A model that cannot be fitted is a
    Result without figures, with the reason in its note.
    """
    used = {name: predictors[name] for name in formula.predictors}
    notes: list[str] = []
    try:
        data = lme4.data_frame(
            {formula.response: y, **used}, {name: groups[name] for name in formula.groups}
        )
        model, said = lme4.set_up(str(formula), data)
        notes += said
        if engine == "cross_products":
            try:
                return _searched(model, formula, used, y, groups, notes)
            except (NotSearchable, np.linalg.LinAlgError) as reason:
                notes.append(f"lme4's optimiser was used: {reason}")
        fit, said = lme4.optimise(model)
        figures = lme4.told(fit)
    except Refused as reason:
        return Result(None, False, "; ".join([*notes, f"lme4: {reason}"]))
    notes += list(dict.fromkeys([*said, *figures.messages]))
    return Result(figures, figures.converged, "; ".join(notes), fit)


def nested_group(formula: Formula) -> str | None:
    """Return the group of the nested intercept, such as `sentence:subject`, if there is one."""
    terms = [term for term in formula.random if ":" in term.group]
    if not terms:
        return None
    if len(terms) > 1 or terms[0].columns != (INTERCEPT,):
        raise NotSearchable("the search covers one nested term, an intercept")
    return terms[0].group


def crossed_factors(formula: Formula) -> list[Factor]:
    """Return the one or two crossed factors of a model that the search covers.

    Both parts of a nested group are among them, without columns where they have no terms.
    """
    nested = nested_group(formula)
    random = [term for term in formula.random if term.group != nested]
    names = list(dict.fromkeys(term.group for term in random))
    if nested:
        if not names:
            raise NotSearchable("the search covers no nested term alone")
        names += [name for name in nested.split(":") if name not in names]
        if len(set(nested.split(":"))) != 2:
            raise NotSearchable("the search covers groups nested two deep")
    if len(names) > 2:
        raise NotSearchable("the search covers at most two grouping variables and their nesting")
    found = []
    for name in names:
        terms = [term for term in random if term.group == name]
        columns = tuple(c for term in terms for c in term.columns)
        if len(set(columns)) < len(columns):
            raise NotSearchable(f"a column occurs in two terms of {name}")
        free, start = np.zeros((len(columns),) * 2, dtype=bool), 0
        for term in terms:
            end = start + len(term.columns)
            block = np.ones((end - start,) * 2, dtype=bool)
            free[start:end, start:end] = np.tril(block) if term.correlated else np.diag(block[0])
            start = end
        found.append(Factor(name, columns, free))
    return found


def _searched(
    model: Any,
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    notes: list[str],
) -> Result:
    """Search theta, have lme4 confirm the deviance there, and make its merMod object of it."""
    # The factor with the larger part of the system is eliminated, the smaller one factored.
    found, nested = crossed_factors(formula), nested_group(formula)
    found.sort(key=lambda f: -len(f.columns) * len(groups[f.group].names))
    started = time.perf_counter()
    optimum = search(
        products_of(formula, found, predictors, y, groups),
        found[0].free,
        found[1].free if len(found) > 1 else np.zeros((0, 0), dtype=bool),
    )
    print(
        f"theta: {optimum.evaluations} evaluations, {time.perf_counter() - started:.2f} s, "
        f"deviance {optimum.deviance!r}, a Newton step would gain {optimum.gain:.1e}",
        file=sys.stderr,
    )
    by_group = {f.group: (f, L) for f, L in zip(found, (optimum.La, optimum.Lb), strict=False)}
    if nested:
        free = np.ones((1, 1), dtype=bool)
        by_group[nested] = Factor(nested, (INTERCEPT,), free), np.array([[optimum.t]])
    theta = np.concatenate([_laid_out(columns, *by_group[g]) for g, columns in lme4.terms(model)])
    evaluation, value = lme4.evaluate(model, theta)
    if not abs(value - optimum.deviance) <= AGREEMENT * abs(value):
        raise NotSearchable(f"its deviance is {value!r}, the search's {optimum.deviance!r}")
    fit = lme4.make_at(model, evaluation, theta)
    if optimum.singular:
        notes.append("singular fit: a variance or a correlation is at its limit")
    if not optimum.converged:
        notes.append(
            f"not converged: a step would lower the deviance by {optimum.gain:.2g}, "
            f"smallest curvature {optimum.curvature:.2g}"
        )
    return Result(lme4.told(fit), optimum.converged, "; ".join(notes), fit, optimum)


def products_of(
    formula: Formula,
    crossed: list[Factor],
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
) -> Products:
    """Sum the cross-products of data in memory; columns of X that depend on others are left out."""
    if INTERCEPT in formula.fixed:
        y = y - y.mean()  # the same fit, with more digits left for the residuals

    def parts() -> Iterator[Part]:
        for start in range(0, len(y), ROWS):
            rows = slice(start, start + ROWS)
            yield (
                {name: values[rows] for name, values in predictors.items()},
                y[rows],
                {factor.group: groups[factor.group].codes[rows] for factor in crossed},
            )

    sizes = {factor.group: len(groups[factor.group].names) for factor in crossed}
    return sum_products(formula, crossed, parts(), sizes)


def sum_products(
    formula: Formula, crossed: list[Factor], parts: Iterable[Part], sizes: Mapping[str, int]
) -> Products:
    """Sum the cross-products of rows that come part by part; `sizes` are the numbers of levels."""
    a = crossed[0]
    b = crossed[1] if len(crossed) > 1 else None
    nested = nested_group(formula) is not None
    G, H = sizes[a.group], sizes[b.group] if b else 1
    i, j = len(a.columns), len(b.columns) if b else 0
    within = 2 + i + j + len(formula.fixed) if nested else 0
    if G * H * max(i * j, within) > CELLS:
        raise NotSearchable(f"{G} x {H} levels are too many for cross-products")

    def block(predictors: Mapping, y: np.ndarray, codes: Mapping[str, np.ndarray]) -> Block:
        def matrix(columns: tuple[str, ...]) -> np.ndarray:
            values = np.array([column(c, predictors, len(y)) for c in columns])
            return values.T.reshape(len(y), len(columns))

        return Block(
            X=matrix(formula.fixed),
            y=y,
            a=codes[a.group],
            Za=matrix(a.columns),
            b=codes[b.group] if b else np.zeros(len(y), dtype=int),
            Zb=matrix(b.columns if b else ()),
        )

    return independent(cross_products((block(*part) for part in parts), G, H, nested))


def _laid_out(columns: list[str], factor: Factor, L: np.ndarray) -> np.ndarray:
    """Return one term's part of theta: the lower triangle of its block of L, by column."""
    keys = [frozenset(factors(c)) for c in factor.columns]
    try:
        index = [keys.index(frozenset(factors(c))) for c in columns]
    except ValueError:
        raise NotSearchable(f"its columns {columns} are not ours, {factor.columns}") from None
    if index != sorted(index):
        raise NotSearchable(f"its columns {columns} are in another order, {factor.columns}")
    block = L[np.ix_(index, index)]
    return block.T[np.triu_indices(len(index))]
