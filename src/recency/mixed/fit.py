"""One mixed model: theta searched on cross-products, then confirmed and reported by lme4."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recency.mixed import lme4
from recency.mixed.cross_products import Block, Products, cross_products, independent
from recency.mixed.expressions import split_product
from recency.mixed.families import GAUSSIAN
from recency.mixed.formula import INTERCEPT, Formula, RandomTerm, column, factors
from recency.mixed.levels import Levels
from recency.mixed.lme4 import Refused
from recency.mixed.summary import FitSummary
from recency.mixed.theta_search import Optimum, search

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

    summary: FitSummary | None
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
    family: str = GAUSSIAN,
) -> Result:
    """Fit by maximum likelihood; `engine` is `cross_products` or `lme4`.

    A `family` other than gaussian is fitted by lme4's glmer(), whatever the engine.

    `predictors` and `y` have one element per observation. A model that cannot be fitted is a
    Result without figures, with the reason in its note.
    """
    used = {name: predictors[name] for name in formula.predictors}
    notes: list[str] = []
    try:
        data = lme4.data_frame(
            {formula.response: y, **{name.strip("`"): values for name, values in used.items()}},
            {name.strip("`"): groups[name] for name in formula.groups},
        )
        if family != GAUSSIAN:
            fit, messages = lme4.generalised(str(formula), data, family)
            return reported(fit, messages)
        model, messages = lme4.set_up(str(formula), data)
        notes += messages
        if engine == "cross_products":
            try:
                return confirmed(model, _timed_search(formula, used, y, groups), notes)
            except (NotSearchable, np.linalg.LinAlgError) as reason:
                notes.append(f"lme4's optimiser was used: {reason}")
        return optimised(model, notes)
    except Refused as reason:
        return Result(None, False, "; ".join([*notes, f"lme4: {reason}"]))


def optimised(model: Any, notes: Sequence[str]) -> Result:
    """Fit a model that lme4 has set up by lme4's own optimiser."""
    fit, messages = lme4.optimise(model)
    return reported(fit, messages, notes)


def reported(fit: Any, messages: Sequence[str], notes: Sequence[str] = ()) -> Result:
    """Read a merMod object that lme4's optimiser ended at."""
    summary = lme4.summary_of(fit)
    notes = [*notes, *dict.fromkeys([*messages, *summary.messages])]
    return Result(summary, summary.converged, "; ".join(notes), fit)


def nested_group(formula: Formula) -> str | None:
    """Return the group of the nested intercept, such as `sentence:subject`, if there is one."""
    terms = [term for term in formula.random if len(split_product(term.group)) > 1]
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
        inner = split_product(nested)
        names += [name for name in inner if name not in names]
        if len(set(inner)) != 2:
            raise NotSearchable("the search covers groups nested two deep")
    if len(names) > 2:
        raise NotSearchable("the search covers at most two grouping variables and their nesting")
    return [_factor(name, [term for term in random if term.group == name]) for name in names]


def _factor(group: str, terms: list[RandomTerm]) -> Factor:
    columns = tuple(c for term in terms for c in term.columns)
    if len(set(columns)) < len(columns):
        raise NotSearchable(f"a column occurs in two terms of {group}")
    free, start = np.zeros((len(columns),) * 2, dtype=bool), 0
    for term in terms:
        end = start + len(term.columns)
        block = np.ones((end - start,) * 2, dtype=bool)
        free[start:end, start:end] = np.tril(block) if term.correlated else np.diag(block[0])
        start = end
    return Factor(group, columns, free)


@dataclass
class Found:
    """What a search ended at: the optimum, and each factor's columns and L by grouping variable.

    The cross-products are those of a, the factor with the larger part of the system, and b.
    """

    factors: list[Factor]
    nested: str | None
    optimum: Optimum
    products: Products

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

    Raises NotSearchable where the search does not cover the model, numpy.linalg.LinAlgError where
    its likelihood has no finite value.
    """
    # The factor with the larger part of the system is eliminated, the smaller one factored.
    crossed = crossed_factors(formula)
    crossed.sort(key=lambda f: -len(f.columns) * len(groups[f.group].names))
    products = products_of(formula, crossed, predictors, y, groups)
    nothing = np.zeros((0, 0), dtype=bool)
    optimum = search(products, crossed[0].free, crossed[1].free if len(crossed) > 1 else nothing)
    return Found(crossed, nested_group(formula), optimum, products)


def _timed_search(*arguments: Any) -> Found:
    """Search theta, and print in the job's log how that went."""
    started = time.perf_counter()
    found = search_theta(*arguments)
    optimum = found.optimum
    print(
        f"theta: {optimum.evaluations} evaluations, {time.perf_counter() - started:.2f} s, "
        f"deviance {optimum.deviance!r}, a Newton step would gain {optimum.gain:.1e}",
        file=sys.stderr,
    )
    return found


def confirmed(model: Any, found: Found, notes: Sequence[str]) -> Result:
    """Have lme4 confirm the deviance at the optimum, and make its merMod object there."""
    by_group, optimum = found.blocks(), found.optimum
    parts = []
    for group, columns in lme4.terms(model):
        if group not in by_group:
            raise NotSearchable(f"its grouping variable {group} is not among ours")
        parts.append(_laid_out(columns, *by_group[group]))
    theta = np.concatenate(parts)
    evaluation, value = lme4.evaluate(model, theta)
    if not abs(value - optimum.deviance) <= AGREEMENT * abs(value):
        raise NotSearchable(f"its deviance is {value!r}, the search's {optimum.deviance!r}")
    fit = lme4.make_at(model, evaluation, theta)
    notes = [*notes, *search_notes(optimum)]
    return Result(lme4.summary_of(fit), optimum.converged, "; ".join(notes), fit, optimum)


def search_notes(optimum: Optimum) -> list[str]:
    """Return what is to be said of an optimum: that it is singular, that it did not converge."""
    notes = []
    if optimum.singular:
        notes.append("singular fit: a variance or a correlation is at its limit")
    if not optimum.converged:
        notes.append(
            f"not converged: a step would lower the deviance by {optimum.gain:.2g}, "
            f"smallest curvature {optimum.curvature:.2g}"
        )
    return notes


def figures(result: Result) -> dict[str, Any]:
    """Return what is recorded of a fit, for JSON and for predictions; empty where there is none."""
    summary = result.summary
    if summary is None:
        summary = FitSummary(
            {}, [], [], math.nan, math.nan, False, {}, {}, [], False, np.empty((0, 0))
        )
    return {
        "converged": result.converged,
        "singular": summary.singular,
        "note": result.note,
        "fixed": [
            {"term": term, "estimate": estimate, "se": se}
            for (term, estimate), se in zip(summary.fixed.items(), summary.se, strict=True)
        ],
        "theta": summary.theta,
        "random": {
            group: {
                "terms": spread["columns"],
                "sd": spread["sd"],
                "correlation": spread["correlation"].tolist(),
            }
            for group, spread in summary.random.items()
        },
        "sigma": summary.sigma,
        "ranef": summary.modes,
    }


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
