"""Comparisons of the levels of a categorical column by the fixed effects of a fit."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtr

from crosslmm import design as designs
from crosslmm.contrast_codings import CODINGS
from crosslmm.errors import InputError, nearest
from crosslmm.expressions import variables
from crosslmm.formula import INTERCEPT
from crosslmm.leaves import leaf_values
from crosslmm.model_request import Prepared, prepare

if TYPE_CHECKING:
    from crosslmm.model import MixedModel

KINDS = ("pairwise", *CODINGS)


def comparisons(fit: MixedModel, column: str, kind: str) -> pd.DataFrame:
    """Return a table of comparisons; see crosslmm.model.MixedModel.contrasts."""
    source = fit._source
    prepared = source.prepared or _prepared(fit)
    fixed = {
        name for term in prepared.formula.fixed if term != INTERCEPT for name in variables(term)
    }
    rows = source.request.rows
    factors = {
        name: designs.categorical(rows[name]).names
        for name in rows.columns
        if name in fixed and not designs.is_number(rows[name])
    }
    if column not in factors:
        suggestion = nearest(column, factors) if factors else repr(column)
        raise InputError(f"contrasts: the fixed effects have no categorical column {suggestion}")
    if kind not in KINDS:
        raise InputError(f"contrasts: kind is {nearest(kind, KINDS)}")
    names = factors[column]
    labels, weights = _weights(names, kind)
    grid = _grid(rows, factors)
    X = _columns(fit, prepared, grid)
    level = grid[column].to_numpy()
    combinations = weights @ np.array([X[level == name].mean(0) for name in names])
    beta, covariance = fit.fixed["estimate"].to_numpy(), fit.covariance.to_numpy()
    if source.internal is not None:  # free of the rounding of columns far from zero
        factor, figures = source.internal.factor, source.result.figures
        beta, covariance = factor * figures.beta, factor**2 * figures.covariance
    estimate = combinations @ beta
    covariance = combinations @ covariance @ combinations.T
    se = np.sqrt(np.diagonal(covariance))
    z = estimate / se
    p = 2 * ndtr(-np.abs(z))
    columns = {"estimate": estimate, "se": se, "z": z, "p": p, "p_holm": _holm(p)}
    return pd.DataFrame(columns, labels)


def _prepared(fit: MixedModel) -> Prepared:
    """Read the formula of a model that R fitted."""
    prepared = prepare(fit._source.request, with_response=False)
    if not set(fit.fixed.index) <= set(prepared.design.columns):
        raise InputError(f"contrasts: R names the columns of {fit.formula!r} otherwise")
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
    if source.internal is None:
        values = designs.values_of(prepared.design, grid)
        return np.column_stack([values[term] for term in fit.fixed.index])
    basis = source.internal.fixed
    values = dict(
        zip(basis.kept, basis.values(leaf_values(prepared.design, grid), len(grid)), strict=True)
    )
    return np.column_stack([values[c] for c in source.result.figures.kept])


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
    return multipletests(p, method="holm")[1]
