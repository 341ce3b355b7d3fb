"""Log-likelihoods of observations under the record of a fit; natural logarithm throughout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from recency.mixed import families, likelihood
from recency.mixed.formula import column
from recency.mixed.levels import joined
from recency.mixed.scaling import scaled
from recency.mixed.summary import FitSummary
from recency.regression.prediction import fixed_effects, linear_predictor, predict
from recency.regression.predictors import Rows


def contributions(record: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Return the log-likelihood (n,) of each row given the random effects, new levels at 0."""
    if families.of(record) == families.BINOMIAL:
        return families.bernoulli(rows.y, linear_predictor(record, rows))
    return likelihood.contributions(rows.y - predict(record, rows), record["sigma"])


def predictive(record: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Return the log density (n,) that the fit predicts for each row by itself.

    As `contributions`, but the variance of a row's unseen effects is added to sigma squared: with
    them at 0 and nothing said of how far they may be from it, the density of a new subject's times
    is far too narrow, and a model whose other parts happen to follow the subject seems better.
    Events have no such closed form; of these it is `contributions`.
    """
    if families.of(record) == families.BINOMIAL:
        return contributions(record, rows)
    predictors, n = scaled(rows.predictors, record["scaling"]), len(rows.y)
    variance = np.full(n, record["sigma"] ** 2)
    for name, spread in record["random"].items():
        group = joined(name, rows.groups)
        unseen = np.array([level not in record["ranef"][name] for level in group.names])
        sd = np.array(spread["sd"])
        # The correlation beside a zero sd is undefined and counts for nothing.
        S = sd[:, None] * np.nan_to_num(np.array(spread["correlation"], dtype=float)) * sd
        Z = np.column_stack([column(term, predictors, n) for term in spread["terms"]])
        variance += unseen[group.codes] * np.einsum("ni,ij,nj->n", Z, S, Z)
    residuals = rows.y - predict(record, rows)
    return -0.5 * (np.log(2 * np.pi * variance) + residuals**2 / variance)


def conditional(record: Mapping[str, Any], rows: Rows) -> float:
    """Return the sum of `contributions`."""
    if families.of(record) == families.BINOMIAL:
        return float(contributions(record, rows).sum())
    return likelihood.conditional(rows.y - predict(record, rows), record["sigma"])


def marginal(record: Mapping[str, Any], rows: Rows) -> float:
    """Return the log-likelihood of rows whose random effects are drawn anew.

    NaN for events, of which it is an integral that has no closed form.
    """
    if families.of(record) == families.BINOMIAL:
        return math.nan
    predictors = scaled(rows.predictors, record["scaling"])
    residuals = rows.y - fixed_effects(record, predictors, len(rows.y))
    return likelihood.marginal(residuals, record, predictors, rows.groups)


def log_likelihoods(
    summary: FitSummary | None, record: Mapping[str, Any], rows: Rows, others: Rows | None
) -> dict[str, float]:
    """Return log-likelihoods of both partitions; NaN without a fit or the rows.

    fit: lme4's, marginal; exploratory: given the random effects, new levels at 0;
    exploratory_marginal: random effects drawn anew; fit_conditional: given the random effects.
    """
    names = ("fit", "fit_conditional", "exploratory", "exploratory_marginal")
    found = dict.fromkeys(names, math.nan)
    if summary is None:
        return found
    found |= {"fit": summary.loglik, "fit_conditional": conditional(record, rows)}
    if others is None:
        return found
    return found | {
        "exploratory": conditional(record, others),
        "exploratory_marginal": marginal(record, others),
    }
