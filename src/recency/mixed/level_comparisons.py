"""Comparisons of the levels of a categorical column by the fixed effects of a fit."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtr

from recency.errors import InputError
from recency.mixed import design as designs
from recency.mixed.contrast_codings import CODINGS
from recency.mixed.expressions import variables
from recency.mixed.formula import INTERCEPT
from recency.mixed.model_request import Prepared, without_response
from recency.names import nearest

if TYPE_CHECKING:
    from recency.mixed.model import MixedModel

KINDS = ("pairwise", *CODINGS)


def comparisons(fit: MixedModel, column: str, kind: str) -> pd.DataFrame:
    """Return a table of comparisons; see recency.mixed.model.MixedModel.contrasts."""
    prepared = fit._source.prepared or _prepared(fit)
    fixed = {
        name for term in prepared.formula.fixed if term != INTERCEPT for name in variables(term)
    }
    rows = fit._source.request.rows
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
    means = _means(prepared, rows, factors, column, list(fit.fixed.index))
    labels, weights = _weights(names, kind)
    combinations = weights @ means
    estimate = combinations @ fit.fixed["estimate"].to_numpy()
    covariance = combinations @ fit.covariance.to_numpy() @ combinations.T
    se = np.sqrt(np.diagonal(covariance))
    z = estimate / se
    p = 2 * ndtr(-np.abs(z))
    columns = {"estimate": estimate, "se": se, "z": z, "p": p, "p_holm": _holm(p)}
    return pd.DataFrame(columns, labels)


def _prepared(fit: MixedModel) -> Prepared:
    """Read the formula of a model that R fitted."""
    prepared = without_response(fit._source.request)  # an InputError if it cannot be read
    if not set(fit.fixed.index) <= set(prepared.columns):
        raise InputError(f"contrasts: R names the columns of {fit.formula!r} otherwise")
    return prepared


def _means(
    prepared: Prepared,
    rows: pd.DataFrame,
    factors: dict[str, list[str]],
    column: str,
    terms: list[str],
) -> np.ndarray:
    """Return the weights (levels, p) of the fixed effects in the mean of each level of a column."""
    grid = pd.DataFrame(list(itertools.product(*factors.values())), columns=list(factors))
    level = grid[column].to_numpy()
    data = {}
    for name in rows.columns:
        if name in factors:
            categories = pd.Categorical(grid[name], factors[name])
            data[name] = categories
        elif designs.is_number(rows[name]):
            data[name] = np.full(len(grid), designs.numbers(rows[name]).mean())
    values = designs.values_of(prepared.design, pd.DataFrame(data))
    X = np.column_stack([values[term] for term in terms])
    return np.array([X[level == name].mean(0) for name in factors[column]])


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
