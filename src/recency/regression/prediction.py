"""Predictions of a fitted model from its JSON file."""

import json
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from crosslmm import families, recorded
from crosslmm.recorded import fixed_part, random_part, scaled
from recency.regression.coding import coding_from_record
from recency.regression.predictors import Rows, read_rows, word_means
from recency.regression.texts import Texts


def predict(fit: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Predict the response (n,) of rows with raw predictors, from fixed and random effects.

    For events this is their probability, for skewed responses the mean, and for the lognormal
    family the mean of the logarithm.
    """
    if "density" in fit:
        eta = all_predictors(fit, rows)
        mean = recorded.expectation(fit, eta)
        if families.of(fit) == families.SHIFTED:
            return fit["shift"] + np.exp(mean + np.exp(2 * eta[:, 1]) / 2)
        return mean
    predictor = linear_predictor(fit, rows)
    if families.of(fit) == families.SHIFTED:
        return fit["shift"] + np.exp(predictor + fit["sigma"] ** 2 / 2)
    return predictor


def all_predictors(fit: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Return all linear predictors (n, K) of a model fitted by Laplace's approximation."""
    predictors = scaled(rows.predictors, fit["scaling"])
    return recorded.linear_predictors(fit, predictors, rows.groups, len(rows.y), ())


def linear_predictor(fit: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Return the sum of fixed and random effects (n,), which for events is their log odds."""
    predictors = scaled(rows.predictors, fit["scaling"])
    n = len(rows.y)
    return fixed_part(fit, predictors, n) + random_part(fit, predictors, rows.groups, n)


def read_fit(path: str | PathLike) -> dict[str, Any]:
    """Read a fitted model's JSON file."""
    return json.loads(Path(path).read_text())


def observed(fit: Mapping[str, Any]) -> str:
    """Return the column of the observations that a model predicts: its formula's left side."""
    return fit.get("formula", "time_ms ~ 1").partition("~")[0].strip()


def rows_for(
    fit: Mapping[str, Any],
    observations: str | PathLike,
    texts: Texts,
    also: Collection[str] = (),
) -> Rows:
    """Read the observations with the model's predictors and response, and the columns `also`.

    With least squares on subject means the rows are words.
    """
    names = list(dict.fromkeys([*fit["scaling"], *also]))
    rows = read_rows(
        observations, texts, names, fit["response"], observed(fit), coding_from_record(fit)
    )
    return word_means(rows) if fit.get("engine") == "ols" else rows
