"""Predictions of a fitted model, from its JSON file alone, as lme4's predict() makes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from recency.mixed.formula import column
from recency.mixed.least_squares import word_means
from recency.regression.predictors import Levels, Rows, Texts, read_rows, read_texts, scaled


def fixed_part(fit: Mapping[str, Any], predictors: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """Return X b (n,) for scaled predictors."""
    total = np.zeros(n)
    for effect in fit["fixed"]:
        total += effect["estimate"] * column(effect["term"], predictors, n)
    return total


def random_part(
    fit: Mapping[str, Any],
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    n: int,
) -> np.ndarray:
    """Return Z b-hat (n,) with the conditional modes; a level that the fit has not seen adds 0."""
    total = np.zeros(n)
    for name, modes in fit["ranef"].items():
        terms = fit["random"][name]["terms"]
        group = group_of(name, groups)
        unseen = [0.0] * len(terms)
        table = np.array([modes.get(level, unseen) for level in group.names])
        for index, term in enumerate(terms):
            total += table[group.codes, index] * column(term, predictors, n)
    return total


def group_of(name: str, groups: Mapping[str, Levels]) -> Levels:
    """Return a grouping variable; `a:b` has the levels `<level of a>:<level of b>` that occur."""
    first, *others = name.split(":")
    group = groups[first]
    for other in others:
        inner = groups[other]
        cells, codes = np.unique(group.codes * len(inner.names) + inner.codes, return_inverse=True)
        names = [
            f"{group.names[cell // len(inner.names)]}:{inner.names[cell % len(inner.names)]}"
            for cell in cells
        ]
        group = Levels(codes, names)
    return group


def predict(fit: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Predict the response (n,) of rows with raw predictors: fixed and random effects."""
    predictors = scaled(rows.predictors, fit["scaling"])
    n = len(rows.y)
    return fixed_part(fit, predictors, n) + random_part(fit, predictors, rows.groups, n)


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
) -> Texts:
    """Read the words' predictors in the variant of surprisal that the model was fitted with."""
    return read_texts(words, unigram, surprisal, fit["surprisal"], first_may_lack=True)


def rows_for(fit: Mapping[str, Any], observations: str | PathLike, texts: Texts) -> Rows:
    """Read the observations with the predictors and the response that the model has.

    For least squares on subject means the rows are words.
    """
    names = list(fit["scaling"])
    rows = read_rows(observations, texts, names, fit["response"], observed(fit))
    return word_means(rows) if fit.get("engine") == "ols" else rows
