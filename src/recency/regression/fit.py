"""Fit one regression of reading times or amplitudes, with or without an LM's surprisal.

Engine `cross_products` searches theta on cross-products and computes the figures here, or has lme4
report those of confirmed fits. Engine `lme4` uses lme4 for everything, and `ols` is least squares on
means over subjects. The exploratory partition is scored with the fit's parameters. The result is one
JSON file.
"""

import json
import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from crosslmm import families
from crosslmm.fitting import criteria
from readingtimes.files import atomic
from recency.endpoints import IN_SAMPLE
from recency.regression.coding import Coding
from recency.regression.designs import kind_of_base
from recency.regression.estimation import estimate
from recency.regression.inputs import Inputs, read_data
from recency.regression.log_likelihoods import (
    in_sample_parts,
    log_likelihoods,
    parts,
)
from recency.regression.predictors import Rows, word_means


def main(
    inputs: Inputs,
    out: str | PathLike,
    *,
    lm: str,
    design: Mapping[str, Any],
    model: str,
    out_observations: str | PathLike | None = None,
    confirm: bool = True,
    in_sample: bool = False,
) -> None:
    """Fit `design` to the fit partition, score the exploratory one, and write JSON to `out`.

    `design` has the keys formula, of_interest, one of designs.CHOICES for each of base, engine,
    response and surprisal, and optionally family. `model` is `full` or `base`, without the effects of
    interest. Without an LM, only a base without any of its columns (`base: all`) can be fitted; for a design
    with both bases, the LM's file decides which one is fitted. A model that lme4 refuses is a result with
    `converged` false and the reason in `note`. If every observation is fitted, AIC and BIC are
    given. `out_observations` gets the log-likelihoods of each exploratory observation (each word,
    for `ols`) as Parquet, and with `in_sample`, or if all observations are fitted, of each fitted
    one; see `write_observations`. With `confirm`, lme4 reports fits that were searched on
    cross-products (see recency.regression.estimation); `figures_by` names the source of the
    figures.
    """
    data = read_data(inputs, design, model)
    design, rows, others = data.design, data.fit, data.exploratory
    subjects = len(rows.groups["subject"].names)
    if design["engine"] == "ols":
        rows, others = word_means(rows), others and word_means(others)
    figures, summary = estimate(data.formula, data.texts, rows, design, data.coding, confirm)
    record = {
        "lm": lm,
        "model": model,
        "engine": design["engine"],
        "response": design["response"],
        "surprisal": design["surprisal"],
        "n": {
            "fit": len(rows.y),
            "exploratory": len(others.y) if others else 0,
            "subjects": subjects,
            "sentences": len(rows.groups["sentence"].names),
        },
        **figures,
    }
    record |= coding_record(data.coding, record["scaling"], {"fit": rows, "exploratory": others})
    record |= {key: design[key] for key in ("spillover",) if key in design}
    record |= {"base": kind_of_base(design, data.columns)} if model == "base" else {}
    record |= {"second_lm": inputs.second_lm} if inputs.second_lm is not None else {}
    if summary and others is None and "aic" not in record:
        record |= criteria(summary, len(rows.y), families.of(record))
    held_out = parts(record, others) if summary and others else None
    record["loglik"] = log_likelihoods(summary, record, rows, held_out)
    if out_observations is not None:
        fitted = None
        if in_sample or others is None:
            fitted = {IN_SAMPLE: in_sample_parts(summary, record, rows)} if summary else {}
        write_observations(out_observations, others, held_out, rows, fitted)
    with atomic(out) as path:
        text = json.dumps(plain(record), sort_keys=True, indent=1, allow_nan=False)
        path.write_text(text + "\n")


def coding_record(
    coding: Coding, scaling: Mapping[str, Any], partitions: Mapping[str, Rows | None]
) -> dict[str, Any]:
    """Return the coding that predictions need, and the number of rows dropped by partition."""
    more = {
        "columns": {name: dict(coding.columns[name]) for name in coding.columns if name in scaling},
        "needs": list(coding.needs),
        "dropped": {
            name: rows.dropped for name, rows in partitions.items() if rows and rows.dropped
        },
    }
    return {key: value for key, value in more.items() if value}


def write_observations(
    out: str | PathLike,
    exploratory: Rows | None,
    parts: Mapping[str, np.ndarray] | None,
    fit: Rows | None = None,
    fitted: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write each row's part (n,) of the log-likelihoods.

    Columns: subject, sentence, word_id, loglik (conditional; null without a fit), and
    `loglik_<name>` for the other likelihoods. With `fitted`, the parts of the fitted rows, these
    follow the exploratory ones, and the column `partition` distinguishes them.
    """
    tables = []
    if exploratory is not None:
        tables.append(_observations(exploratory, parts, "conditional"))
    if fit is not None and fitted is not None:
        tables.append(_observations(fit, fitted, IN_SAMPLE).assign(partition="fit"))
        tables[:-1] = [part.assign(partition="exploratory") for part in tables[:-1]]
    table = pd.concat(tables, ignore_index=True)
    for name in ("subject", "partition"):
        if name in table:
            table[name] = table[name].astype("category")
    with atomic(out) as path:
        table.to_parquet(path, compression="zstd", index=False)


def _observations(rows: Rows, parts: Mapping[str, np.ndarray] | None, first: str) -> pd.DataFrame:
    """Return the rows' subject, sentence, word_id and parts; `first` is null without a fit."""
    subject, sentence = rows.groups["subject"], rows.groups["sentence"]
    columns = {
        "subject": pd.Categorical.from_codes(subject.codes, subject.names),
        "sentence": np.array(sentence.names, dtype=np.int32)[sentence.codes],
        "word_id": rows.word.astype(np.int32),
    }
    values = {first: np.full(len(rows.y), np.nan), **(parts or {})}
    named = {"loglik" if n == "conditional" else f"loglik_{n}": v for n, v in values.items()}
    return pd.DataFrame(columns | named)


def plain(value: Any) -> Any:
    """Convert a record for JSON: NumPy numbers to Python numbers, NaN to null."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
