"""Fit one regression of reading times, with an LM's surprisal or without: one JSON file.

The figures are lme4's; theta is searched on cross-products (engine `cross_products`) or by lme4's
own optimiser (engine `lme4`). The exploratory partition is scored with the fit's parameters.
"""

import json
import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import job
import numpy as np
from mixed_model import likelihood, prediction
from mixed_model.fit import Result, fit_model
from mixed_model.formula import Formula, check, parse, without
from mixed_model.lme4 import Told
from mixed_model.predictors import (
    GROUPS,
    PREDICTORS,
    SURPRISAL,
    Rows,
    read_rows,
    read_texts,
    scaled,
    scaling_of,
)

CHOICES = {
    "base": ("fixed", "all"),
    "engine": ("cross_products", "lme4"),
    "response": ("raw", "log"),
    "surprisal": tuple(SURPRISAL),
}


def main(
    words: str | PathLike,
    fit: str | PathLike,
    exploratory: str | PathLike,
    unigram: str | PathLike,
    out: str | PathLike,
    *,
    lm: str,
    design: Mapping[str, Any],
    model: str,
    surprisal: str | PathLike | None = None,
) -> None:
    """Fit `design` on the partition `fit`, score `exploratory`, write JSON to `out`.

    `design` has the keys formula, of_interest, and one of CHOICES for each of base, engine,
    response and surprisal. `model` is `full` or `base`, which leaves the effects of interest out.
    Without an LM (`surprisal` None) only a base without them altogether (`base: all`) can be
    fitted. A model that lme4 refuses is a result with `converged` false and the reason in `note`.
    """
    formula = formula_of(design, model)
    texts = read_texts(words, unigram, surprisal, design["surprisal"])
    names = sorted(formula.predictors)
    rows = read_rows(fit, texts, names, design["response"])
    others = read_rows(exploratory, texts, names, design["response"])
    scaling = scaling_of(rows.predictors)
    result = fit_model(
        formula, scaled(rows.predictors, scaling), rows.y, rows.groups, design["engine"]
    )
    record = {
        "lm": lm,
        "model": model,
        "formula": str(formula),
        "engine": design["engine"],
        "response": design["response"],
        "surprisal": design["surprisal"],
        "n": {
            "fit": len(rows.y),
            "exploratory": len(others.y),
            "subjects": len(rows.groups["subject"].names),
            "sentences": len(rows.groups["sentence"].names),
        },
        "scaling": scaling,
        **figures(result),
    }
    record["loglik"] = log_likelihoods(result.told, record, rows, others)
    with job.whole(out) as path:
        text = json.dumps(_plain(record), sort_keys=True, indent=1, allow_nan=False)
        path.write_text(text + "\n")


def formula_of(design: Mapping[str, Any], model: str) -> Formula:
    """Return the formula of the full or the base model, all its names checked."""
    for key, choices in CHOICES.items():
        if design[key] not in choices:
            raise job.InputError(
                f"design: {key} is {design[key]!r} and must be one of {', '.join(choices)}"
            )
    if model not in ("full", "base"):
        raise job.InputError(f"model is {model!r} and must be 'full' or 'base'")
    formula = parse(design["formula"])
    check(formula, PREDICTORS, GROUPS)
    base = without(formula, design["of_interest"], slopes=design["base"] == "all")
    return formula if model == "full" else base


def figures(result: Result) -> dict[str, Any]:
    """Return what is reported of a fit; empty where there is none."""
    told = result.told
    if told is None:
        told = Told({}, [], [], math.nan, math.nan, False, {}, {}, [], False)
    return {
        "converged": result.converged,
        "singular": told.singular,
        "note": result.note,
        "fixed": [
            {"term": term, "estimate": estimate, "se": se}
            for (term, estimate), se in zip(told.fixed.items(), told.se, strict=True)
        ],
        "theta": told.theta,
        "random": {
            group: {
                "terms": spread["columns"],
                "sd": spread["sd"],
                "correlation": spread["correlation"].tolist(),
            }
            for group, spread in told.random.items()
        },
        "sigma": told.sigma,
        "ranef": told.modes,
    }


def log_likelihoods(
    told: Told | None, record: Mapping[str, Any], rows: Rows, others: Rows
) -> dict[str, float]:
    """Return log-likelihoods (natural logarithm) of both partitions; NaN without a fit.

    fit: lme4's, marginal; exploratory: given the random effects, new levels at 0;
    exploratory_marginal: random effects drawn anew; fit_conditional: given the random effects.
    """
    if told is None:
        names = ("fit", "fit_conditional", "exploratory", "exploratory_marginal")
        return dict.fromkeys(names, math.nan)
    sigma = told.sigma
    predictors = scaled(others.predictors, record["scaling"])
    fixed = prediction.fixed_part(record, predictors, len(others.y))
    return {
        "fit": told.loglik,
        "fit_conditional": likelihood.conditional(rows.y - prediction.predict(record, rows), sigma),
        "exploratory": likelihood.conditional(others.y - prediction.predict(record, others), sigma),
        "exploratory_marginal": likelihood.marginal(
            others.y - fixed, record, predictors, others.groups
        ),
    }


def _plain(value: Any) -> Any:
    """Replace what JSON does not have: NumPy's numbers, and NaN by null."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    with job.logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            fit=snakemake.input.fit,
            exploratory=snakemake.input.exploratory,
            surprisal=snakemake.input.get("surprisal"),
            unigram=snakemake.input.unigram,
            out=snakemake.output[0],
            **snakemake.params,
        )
