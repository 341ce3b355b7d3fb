"""Reader of curves.csv for the figures and tables of learning curves."""

import pandas as pd

from recency.evaluations.curves.points import COLUMNS
from recency.evaluations.reading_times.intervals import ALL
from recency.figures import comparison
from recency.figures.comparison import LM, Described
from recency.figures.intervals import TOTAL
from recency.figures.paths import File

#: quantity → its axis.
AXES = {
    "delta_loglik": "ΔLogLik (nats)",
    "perplexity": "perplexity per {unit}",
    "accuracy": "accuracy on minimal pairs (%)",
    "mean_distance": "mean attention distance (tokens)",
}


def read(
    path: File, lms: Described, responses: Described, not_run: File | None = None
) -> tuple[pd.DataFrame, list[LM], list[str]]:
    """Return the rows with `label` and `response`, the LMs, and notes on missing results.

    `response` is "Total" for ΔLogLik over all responses. Other quantities have no response, and are
    over all datasets and layers.
    """
    models, measured = comparison.records(lms, responses)
    rows = comparison.table(path, COLUMNS)
    for column in ("dataset", "measure", "design", "by"):
        rows[column] = rows[column].astype(object).fillna("")
    labels = comparison.response_labels(measured) | {(ALL, ALL): TOTAL}
    of = dict(zip((lm.lm for lm in models), (lm.label for lm in models)))
    rows.insert(1, "label", rows.lm.map(of))
    keys = zip(rows.dataset, rows.measure)
    rows["response"] = [labels.get(key, "") for key in keys]
    there = {(row.dataset, row.measure) for row in rows.itertuples()}
    absent = [r for r in measured if (r.dataset, r.measure) not in there]
    words = comparison.absent_responses(absent, comparison.reasons(not_run))
    lost = rows[(rows.quantity == "delta_loglik") & rows.value.isna()].response.unique()
    words += [f"{label} has no fit at some step and is excluded from the sum" for label in lost]
    return rows, models, words


def of(rows: pd.DataFrame, quantity: str, response: str = "") -> pd.DataFrame:
    """Return the rows of a quantity for a response, or over all datasets and layers."""
    rows = rows[rows.quantity == quantity]
    if quantity == "delta_loglik":
        return rows[rows.response == response]
    whole = {"perplexity": rows.dataset, "mean_distance": rows.measure}.get(quantity)
    return rows if whole is None else rows[whole == ALL]


def responses_of(rows: pd.DataFrame) -> list[str]:
    """Return the labels of the responses with ΔLogLik, in order, without the total."""
    responses = rows[(rows.quantity == "delta_loglik") & (rows.response != TOTAL)].response
    return list(dict.fromkeys(responses))


def unit(rows: pd.DataFrame) -> str:
    """Return the unit of perplexity: token, or word where the LMs' tokenizers differ."""
    return next(iter(of(rows, "perplexity").measure), "token")
