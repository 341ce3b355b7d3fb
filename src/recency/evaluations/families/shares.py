"""Shares of the variance of responses: readers, other word properties, and the LM's terms last.

As in the thesis's Figures 9.6 and 9.7, by a type I analysis of variance with the fixed terms of a
mixed model on its data. Readers come first, so that all terms explain variance within readers.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from crosslmm.stats.shares import sequential
from recency.errors import InputError
from recency.figures import comparison
from recency.figures.comparison import Described
from recency.figures.paths import Files
from recency.regression import predictor_names as names

READERS, LM, LENGTH, FREQUENCY, OTHERS = "readers", "surprisal", "length", "frequency", "others"
COLUMNS = ["lm", "label", "response", READERS, LENGTH, FREQUENCY, OTHERS, LM]


def explained_shares(rows: pd.DataFrame, response: str, terms: Sequence[str]) -> dict[str, float]:
    """Return the percentage of the variance of `response` explained by readers and by each term.

    A term is a column of `rows` or a product of columns, `a:b`. Terms of the LM come last, all
    others in the order of the model.
    """
    values = rows[response].to_numpy(float)
    reader = rows["subject"].astype("category").cat.codes.to_numpy()
    sizes = np.maximum(np.bincount(reader), 1)

    def within(column: np.ndarray) -> np.ndarray:
        return column - (np.bincount(reader, column) / sizes)[reader]

    left = within(values)
    inside = (left @ left) / np.sum((values - values.mean()) ** 2)
    ordered = sorted(terms, key=is_of_lm)  # stable
    columns = {term: within(rows[term.split(":")].to_numpy(float).prod(axis=1)) for term in ordered}
    fractions = sequential(left, columns)
    return {READERS: 100 * (1 - inside)} | {t: 100 * inside * fractions[t] for t in ordered}


def is_of_lm(term: str) -> bool:
    """Return whether a term has a factor from the LM."""
    return any(names.split(factor).of_lm for factor in term.split(":"))


def grouped(shares: Mapping[str, float]) -> dict[str, float]:
    """Sum the shares of terms by readers, length, frequency, others and the LM."""
    sums = dict.fromkeys((READERS, LENGTH, FREQUENCY, OTHERS, LM), 0.0)
    for term, share in shares.items():
        kind = {"length": LENGTH, "unigram": FREQUENCY, READERS: READERS}.get(term, OTHERS)
        sums[LM if is_of_lm(term) else kind] += share
    return sums


def read(fitted: Files, fits: Files, cells: Described, responses: Described) -> pd.DataFrame:
    """Return a row (COLUMNS, percent) per cell; files are in the order of `cells`."""
    _, measured = comparison.records([], responses)
    labels = comparison.response_labels(measured)
    rows = []
    for data, fit, cell in zip(fitted, fits, cells, strict=True):
        record, frame = json.loads(Path(fit).read_text(encoding="utf-8")), pd.read_parquet(data)
        response = record["formula"].partition("~")[0].strip()
        response = response if response in frame else f"log_{response}"
        if "subject" not in frame:
            raise InputError(f"{data}: no column subject, so that readers cannot be distinguished")
        terms = [effect["term"].replace("`", "") for effect in record["fixed"]][1:]
        row = {"lm": cell["lm"], "label": cell["label"]}
        row["response"] = labels[cell["dataset"], cell["measure"]]
        rows.append(row | grouped(explained_shares(frame, response, terms)))
    return pd.DataFrame(rows, columns=COLUMNS)
