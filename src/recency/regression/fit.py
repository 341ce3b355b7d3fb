"""Fit one regression of reading times or amplitudes, with an LM's surprisal or without: one JSON file.

The figures are lme4's; theta is searched on cross-products (engine `cross_products`) or by lme4's
own optimiser (engine `lme4`). Engine `ols` is least squares on the means over subjects, with AIC and
BIC. The exploratory partition is scored with the fit's parameters.
"""

import json
import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from recency.files import atomic
from recency.mixed import likelihood
from recency.mixed.fit import Result, figures, fit_model
from recency.mixed.least_squares import criteria, fit_least_squares
from recency.mixed.prediction import fixed_part
from recency.mixed.scaling import scaled, scaling_of
from recency.mixed.summary import FitSummary
from recency.regression import categories, prediction
from recency.regression.coding import Coding, coding_of
from recency.regression.designs import columns_there, formula_of
from recency.regression.predictors import Rows, read_rows, word_means
from recency.regression.texts import read_texts


def main(
    words: str | PathLike,
    fit: str | PathLike,
    exploratory: str | PathLike | None,
    unigram: str | PathLike | None,
    out: str | PathLike,
    *,
    lm: str,
    design: Mapping[str, Any],
    model: str,
    surprisal: str | PathLike | None = None,
    out_observations: str | PathLike | None = None,
    others: Mapping[str, str | PathLike] | None = None,
    beside: str | None = None,
) -> None:
    """Fit `design` on the partition `fit`, score `exploratory`, write JSON to `out`.

    `design` has the keys formula, of_interest, and one of designs.CHOICES for each of base,
    engine, response and surprisal. `model` is `full` or `base`, which leaves the effects of interest out.
    Without an LM (`surprisal` None) only a base without them altogether (`base: all`) can be
    fitted. A model that lme4 refuses is a result with `converged` false and the reason in `note`.
    `exploratory` is None where every observation is fitted. `out_observations` gets the
    log-likelihood of each exploratory observation (of each word, for `ols`), given the random
    effects, as Parquet: subject, sentence, word_id, loglik. `others` are the files of surprisal of
    the LMs that the formula names, and of `beside`, an LM whose terms the model has as well.
    """
    there = columns_there(words, fit)
    formula, whole = (formula_of(design, kind, there, beside) for kind in (model, "full"))
    spillover = design.get("spillover", "item")
    texts = read_texts(words, unigram, surprisal, design["surprisal"], True, others, spillover)
    coding = coding_of(formula, whole, texts, fit)
    names = categories.names(formula, texts, coding)
    asked = (texts, names, design["response"], formula.response, coding)
    rows = read_rows(fit, *asked)
    others = None if exploratory is None else read_rows(exploratory, *asked)
    subjects = len(rows.groups["subject"].names)
    least_squares = design["engine"] == "ols"
    if least_squares:
        rows, others = word_means(rows), others and word_means(others)
    references = categories.references(formula, texts, rows.predictors, coding)
    formula = categories.expand(formula, texts, rows.predictors, references, coding)
    scaling = categories.unscaled(scaling_of(rows.predictors), formula, texts, coding)
    predictors = scaled(rows.predictors, scaling)
    if least_squares:
        summary, notes = fit_least_squares(formula, predictors, rows.y)
        result = Result(summary if summary.converged else None, summary.converged, "; ".join(notes))
    else:
        result = fit_model(formula, predictors, rows.y, rows.groups, design["engine"])
    record = {
        "lm": lm,
        "model": model,
        "formula": str(formula),
        "engine": design["engine"],
        "response": design["response"],
        "surprisal": design["surprisal"],
        "n": {
            "fit": len(rows.y),
            "exploratory": len(others.y) if others else 0,
            "subjects": subjects,
            "sentences": len(rows.groups["sentence"].names),
        },
        "scaling": scaling,
        **figures(result),
    }
    record |= _coded(design, coding, scaling, {"fit": rows, "exploratory": others}, beside)
    if references:
        record["reference"] = references
    if least_squares and result.summary:
        record |= criteria(result.summary, len(rows.y))
    residuals = None
    if result.summary and others:
        residuals = others.y - prediction.predict(record, others)
    record["loglik"] = log_likelihoods(result.summary, record, rows, others, residuals)
    if out_observations is not None:
        write_observations(out_observations, others, residuals, result.summary)
    with atomic(out) as path:
        text = json.dumps(_plain(record), sort_keys=True, indent=1, allow_nan=False)
        path.write_text(text + "\n")


def _coded(
    design: Mapping[str, Any],
    coding: Coding,
    scaling: Mapping[str, Any],
    partitions: Mapping[str, Rows | None],
    beside: str | None,
) -> dict[str, Any]:
    """Return what else predictions need to make the columns, and the rows that were left out."""
    dropped = {name: rows.dropped for name, rows in partitions.items() if rows and rows.dropped}
    more = {
        "spillover": design.get("spillover"),
        "beside": beside,
        "columns": {name: dict(coding.columns[name]) for name in coding.columns if name in scaling},
        "needs": list(coding.needs),
        "dropped": dropped,
    }
    return {key: value for key, value in more.items() if value}


def log_likelihoods(
    summary: FitSummary | None,
    record: Mapping[str, Any],
    rows: Rows,
    others: Rows | None,
    residuals: np.ndarray | None,
) -> dict[str, float]:
    """Return log-likelihoods (natural logarithm) of both partitions; NaN without a fit or the rows.

    fit: lme4's, marginal; exploratory: given the random effects, new levels at 0;
    exploratory_marginal: random effects drawn anew; fit_conditional: given the random effects.
    `residuals` are those of `others` from predictions with random effects.
    """
    names = ("fit", "fit_conditional", "exploratory", "exploratory_marginal")
    found = dict.fromkeys(names, math.nan)
    if summary is None:
        return found
    sigma = summary.sigma
    errors = rows.y - prediction.predict(record, rows)
    found |= {"fit": summary.loglik, "fit_conditional": likelihood.conditional(errors, sigma)}
    if others is None:
        return found
    predictors = scaled(others.predictors, record["scaling"])
    fixed = fixed_part(record, predictors, len(others.y))
    return found | {
        "exploratory": likelihood.conditional(residuals, sigma),
        "exploratory_marginal": likelihood.marginal(
            others.y - fixed, record, predictors, others.groups
        ),
    }


def write_observations(
    out: str | PathLike, rows: Rows | None, residuals: np.ndarray | None, summary: FitSummary | None
) -> None:
    """Write the log-likelihood of each row, null without a fit; an empty table without rows."""
    if rows is None:
        frame = pd.DataFrame(columns=["subject", "sentence", "word_id", "loglik"])
        with atomic(out) as path:
            frame.to_parquet(path, compression="zstd", index=False)
        return
    part = np.full(len(rows.y), np.nan)
    if summary is not None:
        part = likelihood.contributions(residuals, summary.sigma)
    subject, sentence = rows.groups["subject"], rows.groups["sentence"]
    frame = pd.DataFrame(
        {
            "subject": pd.Categorical.from_codes(subject.codes, subject.names),
            "sentence": np.array(sentence.names, dtype=np.int32)[sentence.codes],
            "word_id": rows.word.astype(np.int32),
            "loglik": part,
        }
    )
    with atomic(out) as path:
        frame.to_parquet(path, compression="zstd", index=False)


def _plain(value: Any) -> Any:
    """Replace what JSON does not have: NumPy's numbers, and NaN by null."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
