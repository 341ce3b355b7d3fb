"""Log-likelihoods of observations under the record of a fit; natural logarithm throughout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from recency.mixed import families, likelihood
from recency.mixed.scaling import scaled
from recency.mixed.summary import FitSummary
from recency.regression.prediction import fixed_effects, linear_predictor, predict
from recency.regression.predictors import Rows


def contributions(record: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Return the log-likelihood (n,) of each row given the random effects, new levels at 0."""
    if families.of(record) == families.BINOMIAL:
        return families.bernoulli(rows.y, linear_predictor(record, rows))
    return likelihood.contributions(rows.y - predict(record, rows), record["sigma"])


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
