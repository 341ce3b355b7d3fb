"""Intervals of a generalised model's parameters, in given units, from lme4 on the internal scale.

lme4 profiles a parameter of the model that it has. A given effect is b = B[r] b_s, a combination of
the internal ones, so that the internal columns are rotated until it is one of them: with Q b_s for
b_s, where the first row of Q is B[r] / |B[r]| and X_s Q^-1 for X_s, b is |B[r]| times the first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crosslmm import lme4
from crosslmm.confirmed import FIXED, RANDOM, InR, in_r
from crosslmm.fit_formula import generalised_model
from crosslmm.internal import Internal, correlation_at_limit, in_given_units
from crosslmm.source import Source
from crosslmm.summary import FitSummary


@dataclass(frozen=True)
class Given:
    """A parameter in given units: a fixed effect, or an sd or correlation of a random term."""

    name: str
    rows: tuple[int, ...]
    """indices of a fixed effect's column, or of one or two of a random term's"""
    term: int = -1


def parameters(source: Source) -> list[Given]:
    """Return the parameters in lme4's order, named as there."""
    scale, every = source.internal, []
    numbers = {group: n for n, group in enumerate(source.result.summary.random)}
    order = sorted(range(len(scale.groups)), key=lambda t: numbers[_name(scale.groups[t])])
    for t in order:
        columns, group = scale.random[t].columns, _name(scale.groups[t])
        for r, name in enumerate(columns):
            every.append(Given(f"sd_{name}|{group}", (r,), t))
            every += [
                Given(f"cor_{columns[q]}.{name}|{group}", (r, q), t)
                for q in range(r + 1, len(columns))
            ]
    return every + [Given(scale.fixed.columns[c], (c,)) for c in source.result.figures.kept]


def profile(source: Source, chosen: Sequence[Given], level: float) -> dict[str, list[float]]:
    """Return the limits of profile likelihood intervals."""
    model = generalised_model(source.request, source.prepared)
    limits = {}
    for given in chosen:
        if len(given.rows) == 2:
            rows = source.internal.random[given.term].B[list(given.rows)]
            if (limit := correlation_at_limit(rows)) is not None:
                limits[given.name] = [limit, limit]
                continue
        rotated, factor, name = _rotate(model, given)
        of_r = in_r(rotated)
        fit, _ = of_r.generalised(source.request.family)
        table = lme4.intervals(fit, "profile", level, 0, 0, [name])
        low, high = (factor * value for value in table[name])
        shift = 0.0
        if given.term < 0 and model.scale.mean:
            shift = model.scale.mean * float(model.scale.fixed.constant[given.rows[0]])
        limits[given.name] = [low + shift, high + shift]
    return limits


def bootstrap(source: Source, draws: int, seed: int) -> Iterator[FitSummary]:
    """Simulate responses, with new random effects, and yield the summary of each refit."""
    model = generalised_model(source.request, source.prepared)
    of_r: InR = in_r(model)
    values = lme4.simulated(source.in_r, draws, seed, True)
    for response in values.T:
        figures = of_r.figures(lme4.refitted(source.in_r, response))
        yield in_given_units(model.scale, figures, model.groups, rows=len(response))


def value_of(given: Given, source: Source, summary: FitSummary) -> float:
    """Return a parameter's estimate."""
    if given.term < 0:
        return summary.fixed.get(given.name, np.nan)
    scale = source.internal
    group = scale.groups[given.term]
    before = [
        b for g, b in zip(scale.groups[: given.term], scale.random, strict=False) if g == group
    ]
    start = sum(len(basis.columns) for basis in before)
    spread = summary.random[_name(group)]
    if len(given.rows) == 1:
        return spread["sd"][start + given.rows[0]]
    return float(spread["correlation"][start + given.rows[0], start + given.rows[1]])


def _name(group: str) -> str:
    return group.replace("`", "")


def _rotate(model: Internal, given: Given) -> tuple[Internal, float, str]:
    """Return the model with a parameter of its own, its factor, and its name in R."""
    predictors: dict[str, Any] = dict(model.predictors)
    if given.term < 0:
        kept = list(model.scale.fixed.kept)
        B = model.scale.fixed.B[np.ix_(kept, kept)]
        rows = B[[kept.index(given.rows[0])]]
        names = [f"rotated{c}" for c in range(len(kept))]
        predictors |= dict(zip(names, _columns(model.X(), rows), strict=True))
        formula = replace(model.formula, fixed=tuple(names))
        return replace(model, formula=formula, predictors=predictors), _size(rows)[0], f"{FIXED}0"
    rows = model.scale.random[given.term].B[list(given.rows)]
    names = [f"rotated{c}" for c in range(rows.shape[1])]
    predictors |= dict(zip(names, _columns(model.Z()[given.term], rows), strict=True))
    random = list(model.formula.random)
    random[given.term] = replace(random[given.term], columns=tuple(names))
    rotated = replace(
        model, formula=replace(model.formula, random=tuple(random)), predictors=predictors
    )
    first, group = f"{RANDOM}{given.term}.0", _name(model.scale.groups[given.term])
    if len(given.rows) == 1:
        return rotated, _size(rows)[0], f"sd_{first}|{group}"
    return rotated, 1.0, f"cor_{RANDOM}{given.term}.1.{first}|{group}"


def _size(rows: np.ndarray) -> list[float]:
    return np.sqrt((rows**2).sum(1)).tolist()


def _columns(columns: list[np.ndarray], rows: np.ndarray) -> list[np.ndarray]:
    """Return columns (n,) whose first effects are proportional to `rows` (r, k) of the given ones."""
    k, r = rows.shape[1], len(rows)
    unit = rows / np.array(_size(rows))[:, None]
    others = np.linalg.svd(unit)[2][r:]
    Q = np.vstack([unit, others]) if r < k else unit
    return list((np.column_stack(columns) @ np.linalg.inv(Q)).T)
