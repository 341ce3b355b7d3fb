"""Cross-validation of one regression: each fold is scored by a fit to all the others.

A fold holds whole subjects, sentences or items, so the fit that scores them does not know their
random effects. `predictive` adds their variance to the residual variance, `at_zero` sets them to 0,
and `marginal` integrates them out jointly for all levels of the fold.
"""

import json
import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.files import atomic
from recency.mixed.levels import Levels
from recency.progress import progress
from recency.regression.confirmation import is_confirmed
from recency.regression.designs import kind_of_base
from recency.regression.estimation import estimate
from recency.regression.fit import plain
from recency.regression.inputs import Inputs, read_data
from recency.regression.log_likelihoods import contributions, marginal, predictive
from recency.regression.predictors import concatenate_rows, subset, word_means

BY = ("subject", "sentence", "item")


def main(
    inputs: Inputs,
    out: str | PathLike,
    out_observations: str | PathLike,
    *,
    lm: str,
    design: Mapping[str, Any],
    model: str,
    by: str,
    folds: int,
    seed: int,
) -> None:
    """Fit `design` without each fold in turn and score that fold; write JSON and Parquet.

    The fit and exploratory partitions are pooled. `by` is one of BY; see `assigned` for the folds.
    JSON: n, the sums `predictive`, `at_zero` and `marginal` of log-likelihoods (natural logarithm;
    null if a fold has no fit), converged, note and `fits`, one per fold. Parquet: subject,
    sentence, word_id, fold, loglik (`predictive` in recency.regression.log_likelihoods) and
    loglik_at_zero (unseen effects at 0) of each observation (each word, for `engine: ols`).
    """
    data = read_data(inputs, design, model)
    design, formula = data.design, data.formula
    rows = concatenate_rows([part for part in (data.fit, data.exploratory) if part is not None])
    if design["engine"] == "ols":
        if by == "subject":
            raise InputError(
                "cross_validation: words' means over subjects have no folds by subject"
            )
        rows = word_means(rows)
    confirm = is_confirmed(design, lm, model, "cross-validation")
    fold = assigned(rows.groups[by], folds, seed, by)
    loglik, at_zero = np.full((2, len(rows.y)), np.nan)
    fits: list[dict[str, Any]] = []
    shown = progress(len(rows.y), f"{lm}, {model}: cross-validation", "observations")
    for number in range(folds):
        inside = fold == number
        others = subset(rows, ~inside)
        record, summary = estimate(
            formula, data.texts, others, design, data.coding, confirm and not number
        )
        test, anew = subset(rows, inside), math.nan
        if summary is not None:
            loglik[inside] = predictive(record, test)
            at_zero[inside] = contributions(record, test)
            anew = marginal(record, test)
        fits.append(
            {
                "n_fit": int((~inside).sum()),
                "n": int(inside.sum()),
                "predictive": float(loglik[inside].sum()),
                "at_zero": float(at_zero[inside].sum()),
                "marginal": anew,
                "converged": record["converged"],
                "note": record["note"],
            }
        )
        shown.update(sum(one_fit["n"] for one_fit in fits))
    result = {
        "lm": lm,
        "model": model,
        "formula": str(formula),
        "unit": unit(design, formula.response),
        **({"base": kind_of_base(design, data.columns)} if model == "base" else {}),
        "by": by,
        "folds": folds,
        "seed": seed,
        "n": len(rows.y),
        "predictive": float(loglik.sum()),
        "at_zero": float(at_zero.sum()),
        "marginal": sum(one_fit["marginal"] for one_fit in fits),
        "converged": all(one_fit["converged"] for one_fit in fits),
        "note": "; ".join(dict.fromkeys(one_fit["note"] for one_fit in fits if one_fit["note"])),
        "fits": fits,
    }
    with atomic(out) as path:
        path.write_text(json.dumps(plain(result), sort_keys=True, indent=1, allow_nan=False) + "\n")
    subject, sentence = rows.groups["subject"], rows.groups["sentence"]
    frame = pd.DataFrame(
        {
            "subject": pd.Categorical.from_codes(subject.codes, subject.names),
            "sentence": np.array(sentence.names, dtype=np.int32)[sentence.codes],
            "word_id": rows.word.astype(np.int32),
            "fold": fold.astype(np.int16),
            "loglik": loglik,
            "loglik_at_zero": at_zero,
        }
    )
    with atomic(out_observations) as path:
        frame.to_parquet(path, compression="zstd", index=False)


def unit(design: Mapping[str, Any], response: str) -> str:
    """Return the response that a design models: time_ms, log time_ms, amplitude_uv or event."""
    return response if design["response"] == "raw" else f"log {response}"


def assigned(group: Levels, folds: int, seed: int, by: str = "group") -> np.ndarray:
    """Return each row's fold (n,), from 0: whole levels, drawn with `seed` in folds of equal size.

    The levels are drawn in their natural order, so that the folds are the same for every LM. Raises
    an InputError if there are fewer levels than folds.
    """
    many = len(group.names)
    if many < folds:
        raise InputError(
            f"cross_validation → folds: {folds} folds by {by} need as many of them, and there are "
            f"{many}; write {many} or fewer"
        )
    fold = np.empty(many, dtype=int)
    fold[np.random.default_rng(seed).permutation(many)] = np.arange(many) % folds
    return fold[group.codes]
