"""Effect sizes, intervals of predictions, and the influence of the levels of a grouping variable."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from crosslmm import design as designs
from crosslmm.design import leaf_values
from crosslmm.errors import InputError, nearest
from crosslmm.factors import Levels, NotSearchable, joined
from crosslmm.families import BINOMIAL, GAUSSIAN, GENERALISED, LINEAR
from crosslmm.fit_formula import linear_model
from crosslmm.model_request import Source, linear_predictor
from crosslmm.scaled_search import search_internal
from crosslmm.term_tests import inference_of

if TYPE_CHECKING:
    from crosslmm.model import MixedModel

KINDS = ("confidence", "prediction")


def _source_of(fit: MixedModel, what: str) -> Source:
    """Return the source of a fit whose formula is read here."""
    if fit._source.prepared is None:
        raise InputError(f"{what} needs a formula that is read here, not by R alone")
    return fit._source


def explained_variance(fit: MixedModel) -> pd.Series:
    """Return R squared and ICC; see crosslmm.model.MixedModel.r2."""
    source = _source_of(fit, "r2()")
    if fit.family not in (*LINEAR, *GENERALISED):
        raise InputError(f"r2() supports linear, binomial and Poisson models, not {fit.family!r}")
    eta = linear_predictor(source, source.request.rows, False, False)
    if source.prepared.offset is not None:
        eta = eta - source.prepared.offset
    fixed, random = float(np.var(eta, ddof=1)), float(_random_variance(source).mean())
    residual = fit.sigma**2
    if fit.family == BINOMIAL:
        residual = math.pi**2 / 3
    elif fit.family not in LINEAR:
        residual = math.log1p(1 / float(np.exp(eta + random / 2).mean()))
    total = fixed + random + residual
    return pd.Series(
        {
            "marginal": fixed / total,
            "conditional": (fixed + random) / total,
            "icc": random / (random + residual),
        }
    )


def _random_variance(source: Source, leaves: dict | None = None, rows: int = 0) -> np.ndarray:
    """Return the variance (n,) of the rows' random effects; of the fitted rows by default."""
    scale, figures, prepared = source.internal, source.result.figures, source.prepared
    if leaves is None:
        leaves, rows = prepared.leaves, len(prepared.y)
    total = np.zeros(rows)
    for basis, L in zip(scale.random, figures.Ls, strict=True):
        Z = np.column_stack(basis.values(leaves, rows))
        total += (scale.factor * figures.sigma) ** 2 * ((Z @ L) ** 2).sum(1)
    return total


def standardised_effects(fit: MixedModel) -> pd.DataFrame:
    """Return effects in standard deviations; see crosslmm.model.MixedModel.standardised."""
    source = _source_of(fit, "standardised()")
    values = designs.values_of(source.prepared.design, source.request.rows)
    sd = np.array([np.std(values[term] * np.ones(fit.nobs), ddof=1) for term in fit.fixed.index])
    linear = fit.family in LINEAR
    unit = float(np.std(source.prepared.working(source.shift), ddof=1)) if linear else 1.0
    table = fit.fixed.mul(1.0)
    table[["estimate", "se"]] = table[["estimate", "se"]].mul(sd / unit, axis=0)
    return table[sd > 0]


def prediction_intervals(
    fit: MixedModel, data: pd.DataFrame | None, mean: pd.Series, kind: str, level: float
) -> pd.DataFrame:
    """Return means and limits; see crosslmm.model.MixedModel.predict."""
    if kind not in KINDS:
        raise InputError(f"interval is {nearest(kind, KINDS)}")
    if not 0 < level < 1:
        raise InputError(f"level is {level!r} and must be between 0 and 1, such as 0.95")
    source = _source_of(fit, "predict(interval=…)")
    linear = fit.family in LINEAR
    if kind == "prediction" and not linear:
        raise InputError(f"interval='prediction' needs a linear model, not family {fit.family!r}")
    if not linear and fit.family not in GENERALISED:
        raise InputError(f"interval={kind!r} is not available for family {fit.family!r}")
    scale, figures, prepared = source.internal, source.result.figures, source.prepared
    rows = source.request.rows if data is None else data
    leaves = prepared.leaves if data is None else leaf_values(prepared.design, rows)
    of_column = dict(zip(scale.fixed.kept, scale.fixed.values(leaves, len(rows)), strict=True))
    X = np.column_stack([of_column[c] * np.ones(len(rows)) for c in figures.kept])
    inference = inference_of(fit, fit.ddf) if fit.ddf else None
    covariance = inference.covariance if inference else figures.covariance
    variance = scale.factor**2 * np.einsum("np,pq,nq->n", X, covariance, X)
    if kind == "prediction":
        variance += _random_variance(source, leaves, len(rows))
        weights = rows[source.request.weights].to_numpy() if source.request.weights else 1.0
        variance += fit.sigma**2 / weights
    share = (1 + level) / 2
    quantile = ndtri(share)
    if inference:
        quantile = stdtrit(np.array([*map(inference.df, X)]), share)
    eta = linear_predictor(source, rows, data is not None, False)
    ends = [eta + sign * quantile * np.sqrt(variance) for sign in (-1, 1)]
    if kind == "prediction" and fit.family != GAUSSIAN:
        ends = [source.shift + np.exp(end) for end in ends]
    elif fit.family != GAUSSIAN:
        ends = [source.mean(end) for end in ends]
    return pd.DataFrame({"predicted": mean, "low": ends[0], "high": ends[1]}, mean.index)


def influence_of(fit: MixedModel, group: str) -> pd.DataFrame:
    """Return Cook's distances and DFBETAS; see crosslmm.model.MixedModel.influence."""
    source = _source_of(fit, "influence()")
    if fit.family not in LINEAR:
        raise InputError(f"influence() needs a linear model, not family {fit.family!r}")
    if group not in fit.modes:
        raise InputError(f"influence: the random effects have no group {nearest(group, fit.modes)}")
    prepared, figures = source.prepared, source.result.figures
    model = linear_model(prepared, prepared.working(source.shift), fit.reml)
    kept, terms = list(figures.kept), list(fit.fixed.index)
    B = source.internal.fixed.B[np.ix_(kept, kept)]
    group_levels = joined(source.internal.groups[_names(source).index(group)], prepared.groups)
    inverse, rows = np.linalg.inv(figures.covariance), {}
    for code, name in enumerate(group_levels.names):
        there = group_levels.codes != code
        left = replace(
            model,
            predictors={key: values[there] for key, values in model.predictors.items()},
            y=model.y[there],
            groups={key: Levels(of.codes[there], of.names) for key, of in model.groups.items()},
            weights=None if model.weights is None else model.weights[there],
        )
        rows[name] = [math.nan] * (1 + len(terms))
        try:
            without = search_internal(left).figures
        except (NotSearchable, np.linalg.LinAlgError):
            continue
        if without.kept == figures.kept:
            change = figures.beta - without.beta
            se = np.sqrt(np.einsum("ij,jk,ik->i", B, without.covariance, B))
            rows[name] = [change @ inverse @ change / len(change), *(B @ change / se)]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["cooks_distance", *terms])


def _names(source: Source) -> list[str]:
    return [group.replace("`", "") for group in source.internal.groups]
