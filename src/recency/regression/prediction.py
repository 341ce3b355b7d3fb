"""Predictions of a fitted model, from its JSON file alone."""

import json
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from recency.mixed import families, mgcv
from recency.mixed.prediction import fixed_part, random_part
from recency.mixed.scaling import scaled
from recency.regression.coding import recorded
from recency.regression.predictors import Rows, Texts, read_rows, read_texts, word_means


def predict(fit: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Predict the response (n,) of rows with raw predictors: fixed and random effects.

    Of events this is their probability.
    """
    return families.mean(families.of(fit), linear_predictor(fit, rows))


def linear_predictor(fit: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Return the sum of fixed and random effects (n,): of events, their log odds."""
    predictors = scaled(rows.predictors, fit["scaling"])
    n = len(rows.y)
    return fixed_effects(fit, predictors, n) + random_part(fit, predictors, rows.groups, n)


def fixed_effects(
    fit: Mapping[str, Any], predictors: Mapping[str, np.ndarray], n: int
) -> np.ndarray:
    """Return the part (n,) without random effects, of predictors scaled as they were for the fit."""
    if "mgcv" in fit:
        return mgcv.fixed_part(fit["mgcv"], predictors, n)
    return fixed_part(fit, predictors, n)


def read_fit(path: str | PathLike) -> dict[str, Any]:
    """Read a fitted model's JSON file."""
    return json.loads(Path(path).read_text())


def observed(fit: Mapping[str, Any]) -> str:
    """Return the observations' column that a model predicts: the left side of its formula."""
    return fit.get("formula", "time_ms ~ 1").partition("~")[0].strip()


def texts_for(
    fit: Mapping[str, Any],
    words: str | PathLike,
    unigram: str | PathLike | None,
    surprisal: str | PathLike | None,
    others: Mapping[str, str | PathLike] | None = None,
) -> Texts:
    """Read the words' predictors in the variant of surprisal that the model was fitted with.

    `others` are the files of surprisal of the LMs that the formula names.
    """
    spillover = fit.get("spillover", "item")
    variant = fit["surprisal"]
    return read_texts(words, unigram, surprisal, variant, True, others, spillover)


def rows_for(
    fit: Mapping[str, Any],
    observations: str | PathLike,
    texts: Texts,
    also: Collection[str] = (),
) -> Rows:
    """Read the observations with the predictors and the response that the model has, and `also`.

    For least squares on subject means the rows are words.
    """
    names = list(dict.fromkeys([*fit["scaling"], *also]))
    rows = read_rows(observations, texts, names, fit["response"], observed(fit), recorded(fit))
    return word_means(rows) if fit.get("engine") == "ols" else rows
