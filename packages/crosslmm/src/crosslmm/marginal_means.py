"""Means that the fixed effects predict for the levels of categorical columns, and their contrasts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from crosslmm import design as designs
from crosslmm.design import CODINGS, leaf_values
from crosslmm.errors import InputError, nearest
from crosslmm.expressions import variables
from crosslmm.families import LINEAR
from crosslmm.formula import INTERCEPT
from crosslmm.model_request import Prepared, prepare
from crosslmm.term_tests import inference_of

if TYPE_CHECKING:
    from crosslmm.model import MixedModel

KINDS = ("pairwise", *CODINGS)


def comparisons(fit: MixedModel, column: str, kind: str) -> pd.DataFrame:
    """Return a table of comparisons; see crosslmm.model.MixedModel.contrasts."""
    if kind not in KINDS:
        raise InputError(f"contrasts: kind is {nearest(kind, KINDS)}")
    names, means = _means(fit, [column])
    labels, weights = _weights([name for (name,) in names], kind)
    table = _estimates(fit, weights @ means, 0.0)
    return table.assign(p_holm=_holm(table["p"].to_numpy())).set_axis(labels)


def marginal_means(fit: MixedModel, columns: Sequence[str], level: float) -> pd.DataFrame:
    """Return a table of means; see crosslmm.model.MixedModel.means."""
    if not 0 < level < 1:
        raise InputError(f"level is {level!r} and must be between 0 and 1, such as 0.95")
    names, means = _means(fit, columns)
    scale = fit._source.internal
    table = _estimates(fit, means, scale.mean if scale is not None else 0.0)
    share = (1 + level) / 2
    quantile = stdtrit(table["df"], share) if fit.ddf else ndtri(share)
    table["low"], table["high"] = (table["estimate"] + s * quantile * table["se"] for s in (-1, 1))
    if fit.family not in LINEAR:
        table["response"] = fit._source.mean(table["estimate"].to_numpy())
    index = pd.MultiIndex.from_tuples(names, names=columns)
    table.index = index if len(columns) > 1 else index.get_level_values(0)
    kept = ["estimate", "se", *(["df"] if fit.ddf else []), "low", "high"]
    return table[[*kept, *(["response"] if "response" in table else [])]]


def _means(fit: MixedModel, columns: Sequence[str]) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Return the combinations of the columns' levels, and their means' weights (combinations, p)."""
    source = fit._source
    prepared = source.prepared or _read_formula(fit)
    fixed = {
        name for term in prepared.formula.fixed if term != INTERCEPT for name in variables(term)
    }
    rows = source.request.rows
    factors = {
        name: designs.categorical(rows[name]).names
        for name in rows.columns
        if name in fixed and not designs.is_number(rows[name])
    }
    for column in columns:
        if column not in factors:
            suggestion = nearest(column, factors) if factors else repr(column)
            raise InputError(f"the fixed effects have no categorical column {suggestion}")
    names = list(itertools.product(*(factors[column] for column in columns)))
    grid = _grid(rows, factors)
    X, levels = _columns(fit, prepared, grid), grid[list(columns)].astype(str).to_numpy()
    return names, np.array([X[(levels == name).all(1)].mean(0) for name in names])


def _estimates(fit: MixedModel, combinations: np.ndarray, mean: float) -> pd.DataFrame:
    """Return combinations (c, p) of the fixed effects, plus `mean`, with their tests."""
    source, figures = fit._source, fit._source.result.figures
    beta, covariance = fit.fixed["estimate"].to_numpy(), fit.covariance.to_numpy()
    inference = inference_of(fit, fit.ddf) if fit.ddf else None
    if source.internal is not None and figures is not None:  # no rounding of columns far from zero
        factor = source.internal.factor
        inner = inference.covariance if inference else figures.covariance
        beta, covariance = factor * figures.beta, factor**2 * inner
    estimate = combinations @ beta + mean
    se = np.sqrt(np.einsum("cp,pq,cq->c", combinations, covariance, combinations))
    tests = {"z": estimate / se}
    p = 2 * ndtr(-np.abs(tests["z"]))
    if inference is not None:
        tests = {"df": np.array([*map(inference.df, combinations)]), "t": estimate / se}
        p = 2 * stdtr(tests["df"], -np.abs(tests["t"]))
    return pd.DataFrame({"estimate": estimate, "se": se, **tests, "p": p})


def _read_formula(fit: MixedModel) -> Prepared:
    """Read the formula of a model that R fitted."""
    prepared = prepare(fit._source.request, with_response=False)
    if not set(fit.fixed.index) <= set(prepared.design.columns):
        raise InputError(f"R names the columns of {fit.formula!r} otherwise")
    return prepared


def _grid(rows: pd.DataFrame, factors: dict[str, list[str]]) -> pd.DataFrame:
    """Return the combinations of all factors' levels, with numeric columns at their mean."""
    grid = pd.DataFrame(list(itertools.product(*factors.values())), columns=list(factors))
    data = {}
    for name in rows.columns:
        if name in factors:
            data[name] = pd.Categorical(grid[name], factors[name])
        elif designs.is_number(rows[name]):
            data[name] = np.full(len(grid), designs.numbers(rows[name]).mean())
    return pd.DataFrame(data)


def _columns(fit: MixedModel, prepared: Prepared, grid: pd.DataFrame) -> np.ndarray:
    """Return the fixed columns (rows, p) of the grid, on the internal scale if there is one."""
    source = fit._source
    figures = source.result.figures
    if source.internal is None or figures is None:
        values = designs.values_of(prepared.design, grid)
        return np.column_stack([values[term] for term in fit.fixed.index])
    basis = source.internal.fixed
    columns = basis.values(leaf_values(prepared.design, grid), len(grid))
    of_column = dict(zip(basis.kept, columns, strict=True))
    return np.column_stack([of_column[column] for column in figures.kept])


def _weights(names: list[str], kind: str) -> tuple[list[str], np.ndarray]:
    """Return the comparisons' labels, and their weights (comparisons, levels) of level means."""
    k, unit = len(names), np.eye(len(names))
    if kind == "pairwise":
        pairs = list(itertools.combinations(range(k), 2))
        labels = [f"{names[a]} - {names[b]}" for a, b in pairs]
        return labels, np.array([unit[a] - unit[b] for a, b in pairs])
    if kind == "sum":
        return [f"{name} - mean" for name in names], unit - 1 / k
    if kind == "treatment":
        labels = [f"{name} - {names[0]}" for name in names[1:]]
    elif kind == "helmert":
        labels = [f"{names[c]} - mean of {', '.join(names[:c])}" for c in range(1, k)]
        return labels, np.array([unit[c] - unit[:c].mean(0) for c in range(1, k)])
    else:
        labels = [f"{b} - {a}" for a, b in itertools.pairwise(names)]
    return labels, CODINGS[kind](names).comparisons()


def _holm(p: np.ndarray) -> np.ndarray:
    """Correct p values by Holm's method."""
    try:
        from statsmodels.stats.multitest import multipletests
    except ImportError:
        raise InputError("contrasts() needs statsmodels: pip install statsmodels") from None
    return np.asarray(multipletests(p, method="holm")[1])
