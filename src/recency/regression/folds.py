"""Cross-validation of one regression: every fold's observations scored by a fit to all the others.

A fold holds whole subjects, sentences or items, so that their random effects are unknown to the fit
that scores them: they add to the variance of what is predicted, are at 0, or, in the marginal
log-likelihood, drawn anew for all of a fold's levels at once.
"""

import json
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.files import atomic
from recency.mixed.levels import Levels, levels
from recency.progress import progress
from recency.regression import categories
from recency.regression.coding import coding_of
from recency.regression.confirmation import drawn
from recency.regression.designs import columns_there, formula_of, kind_of_base, with_one_base
from recency.regression.estimation import estimate
from recency.regression.fit import plain
from recency.regression.likelihoods import contributions, marginal, predictive
from recency.regression.predictors import Rows, read_rows, word_means
from recency.regression.texts import read_texts

BY = ("subject", "sentence", "item")


def main(
    words: str | PathLike,
    fit: str | PathLike,
    exploratory: str | PathLike | None,
    unigram: str | PathLike | None,
    out: str | PathLike,
    out_observations: str | PathLike,
    *,
    lm: str,
    design: Mapping[str, Any],
    model: str,
    by: str,
    folds: int,
    seed: int,
    surprisal: str | PathLike | None = None,
    others: Mapping[str, str | PathLike] | None = None,
) -> None:
    """Fit `design` without each fold in turn and score that fold; write JSON and Parquet.

    The observations of `fit` and `exploratory` are taken together. `by` is one of BY; see
    `assigned` for the folds. JSON: n, the sums `predictive`, `at_zero` and `marginal` of
    log-likelihoods (natural logarithm; null where a fold has no fit), converged, note and `fits`, one
    a fold. Parquet: subject, sentence, word_id, fold, loglik (recency.regression.likelihoods'
    `predictive`) and loglik_at_zero (unseen effects at 0) of every observation (of every word, for
    `engine: ols`). `others` are the files of surprisal of the LMs that the formula names.
    """
    there, design = columns_there(words, fit), with_one_base(design, surprisal is not None)
    formula, whole = (formula_of(design, kind, there) for kind in (model, "full"))
    spillover = design.get("spillover", "item")
    texts = read_texts(words, unigram, surprisal, design["surprisal"], True, others, spillover)
    coding = coding_of(formula, whole, texts, fit)
    names = categories.names(formula, texts, coding)
    parts = [
        read_rows(path, texts, names, design["response"], formula.response, coding)
        for path in (fit, exploratory)
        if path is not None
    ]
    rows = together(parts)
    if design["engine"] == "ols":
        if by == "subject":
            raise InputError(
                "cross_validation: words' means over subjects have no folds by subject"
            )
        rows = word_means(rows)
    confirm = drawn(design, lm, model, "cross-validation")
    fold = assigned(rows.groups[by], folds, seed, by)
    loglik, at_zero = np.full((2, len(rows.y)), np.nan)
    fits: list[dict[str, Any]] = []
    shown = progress(len(rows.y), f"{lm}, {model}: cross-validation", "observations")
    for number in range(folds):
        inside = fold == number
        others = subset(rows, ~inside)
        record, summary = estimate(formula, texts, others, design, coding, confirm and not number)
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
        shown.update(sum(each["n"] for each in fits))
    result = {
        "lm": lm,
        "model": model,
        "formula": str(formula),
        "unit": unit(design, formula.response),
        **({"base": kind_of_base(design, there)} if model == "base" else {}),
        "by": by,
        "folds": folds,
        "seed": seed,
        "n": len(rows.y),
        "predictive": float(loglik.sum()),
        "at_zero": float(at_zero.sum()),
        "marginal": sum(each["marginal"] for each in fits),
        "converged": all(each["converged"] for each in fits),
        "note": "; ".join(dict.fromkeys(each["note"] for each in fits if each["note"])),
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
    """Name what a design models: time_ms, log time_ms, amplitude_uv or event."""
    return response if design["response"] == "raw" else f"log {response}"


def assigned(group: Levels, folds: int, seed: int, by: str = "group") -> np.ndarray:
    """Return each row's fold (n,), from 0: whole levels, drawn by `seed`, as many to each fold.

    The draw is of the levels in their natural order, so that it is the same for every LM. Raises an
    InputError where there are fewer levels than folds.
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


def subset(rows: Rows, kept: np.ndarray) -> Rows:
    """Return the rows where `kept` (n,) is true, with the levels that are among them alone."""
    groups = {}
    for name, group in rows.groups.items():
        there, codes = np.unique(group.codes[kept], return_inverse=True)
        groups[name] = Levels(codes, [group.names[code] for code in there])
    predictors = {name: values[kept] for name, values in rows.predictors.items()}
    return Rows(predictors, rows.y[kept], groups, rows.word[kept])


def together(parts: Sequence[Rows]) -> Rows:
    """Put the rows of several files into one, their levels in the natural order of all."""
    if len(parts) == 1:
        return parts[0]
    groups = {}
    for name in parts[0].groups:
        values = np.concatenate(
            [np.array(rows.groups[name].names)[rows.groups[name].codes] for rows in parts]
        )
        groups[name] = levels(values.astype(int) if name == "sentence" else values)
    return Rows(
        {
            name: np.concatenate([rows.predictors[name] for rows in parts])
            for name in parts[0].predictors
        },
        np.concatenate([rows.y for rows in parts]),
        groups,
        np.concatenate([rows.word for rows in parts]),
    )
