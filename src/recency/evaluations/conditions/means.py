"""Mean response and mean surprisal of a region by condition, with intervals over stimuli.

Differences from the first condition are paired over stimuli.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from readingtimes.names import hint
from readingtimes.response_names import EVENT, RESPONSES
from recency.errors import InputError
from recency.evaluations.contrasts.paired import paired
from recency.figures.paths import File, write_csv
from recency.figures.style import UNITS

COLUMNS = ["region", "condition", "variable", "unit", "stimuli", "mean", "low", "high"]
COLUMNS += ["difference", "pairs", "t", "p"]
RESPONSE = "response"
"""Name of the readers' response as a variable; the other variables are LMs."""


def cells(observations: pd.DataFrame, words: pd.DataFrame, by: str, stimulus: str) -> pd.DataFrame:
    """Return the mean response of each region over subjects.

    Parameters
    ----------
    observations : DataFrame
        Columns word_id, optionally span, and the response.
    words : DataFrame
        Contract 1, with the columns `by` and `stimulus`.
    by, stimulus : str
        Columns of the conditions and of the units compared between them.

    Returns
    -------
    DataFrame
        word_id, span (words), region, condition, stimulus, response; in reading order.
    """
    value = next(name for name in (*RESPONSES, EVENT) if name in observations)
    rows = (
        observations.assign(span=observations.get("span", 1))
        .groupby(["word_id", "span"])[value]
        .mean()
    )
    table = rows.rename(RESPONSE).reset_index()
    word = words.set_index("word_id").loc[table["word_id"]]
    table["region"] = word["region"].fillna("").to_numpy() if "region" in word else ""
    return table.assign(condition=word[by].to_numpy(), stimulus=word[stimulus].to_numpy())


def surprisal(bits: np.ndarray, regions: pd.DataFrame) -> np.ndarray:
    """Return the surprisal of each region in bits: the sum over its words, NaN where one has none.

    Parameters
    ----------
    bits : ndarray, shape (words,)
        Surprisal by word_id, in bits.
    regions : DataFrame
        Columns word_id and span.
    """
    pairs = zip(regions["word_id"], regions["span"], strict=True)
    return np.array([bits[first : first + size].sum() for first, size in pairs])


def summarised(rows: pd.DataFrame, variable: str, unit: str) -> list[tuple]:
    """Return the rows (COLUMNS) of one variable: means over stimuli by region and condition.

    Parameters
    ----------
    rows : DataFrame
        Columns region, condition, stimulus, and `variable`.
    variable, unit : str
        The column, and its unit.
    """
    summaries = []
    for region, part in rows.groupby("region", sort=False):
        means = part.groupby(["condition", "stimulus"], sort=False)[variable].mean().dropna()
        conditions = [
            c for c in pd.unique(part["condition"]) if c in means.index.get_level_values(0)
        ]
        for condition in conditions:
            values = means[condition]
            half = _half_width(values.to_numpy())
            row = (region, condition, variable, unit, len(values), values.mean())
            row += (values.mean() - half, values.mean() + half)
            summaries.append(
                (*row, *_difference(values, means[conditions[0]], condition == conditions[0]))
            )
    return summaries


def _half_width(values: np.ndarray) -> float:
    """Return half of the 95 % interval of a mean, by Student's t; NaN for one value."""
    from scipy.stats import t

    n = len(values)
    if n < 2:
        return math.nan
    return float(t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n))


def _difference(values: pd.Series, first: pd.Series, is_first: bool) -> tuple:
    """Return difference, pairs, t and p, paired over stimuli, against the first condition."""
    difference = (values - first).dropna().to_numpy()
    if is_first or not len(difference):
        return math.nan, 0, math.nan, math.nan
    return float(difference.mean()), len(difference), *paired(difference)


def main(
    words: File,
    observations: Sequence[File],
    surprisals: Sequence[File],
    out: File,
    lms: Sequence[Mapping],
    by: str = "condition",
    stimulus: str = "stimulus",
) -> None:
    """Write COLUMNS: the response and each LM's surprisal, by region and condition.

    Parameters
    ----------
    words : path
        Contract 1.
    observations : sequence of path
        Observations after the filters, without the held-out partition.
    surprisals : sequence of path
        Contract 3, in the order of `lms`.
    out : path
        The CSV.
    lms : sequence of mapping
        With the key lm.
    by, stimulus : str
        Columns of the words.

    Raises
    ------
    InputError
        If the words lack one of the columns.
    """
    word_table = pd.read_parquet(words)
    for key, name in (("by", by), ("stimulus", stimulus)):
        if name not in word_table:
            raise InputError(
                f"{words}: conditions → {key}: the words have no column {name}; "
                f"{hint(name, word_table.columns)}map it in options → columns"
            )
    frame = pd.concat([pd.read_parquet(path) for path in observations], ignore_index=True)
    value = next(name for name in (*RESPONSES, EVENT) if name in frame)
    regions = cells(frame, word_table, by, stimulus)
    unit = "" if value == EVENT else UNITS[value]
    rows = summarised(regions, RESPONSE, unit)
    for lm, path in zip(lms, surprisals, strict=True):
        scored = pd.read_parquet(path, columns=["word_id", "surprisal_bits"]).set_index("word_id")
        bits = scored["surprisal_bits"].reindex(word_table["word_id"]).to_numpy(dtype=float)
        rows += summarised(regions.assign(**{lm["lm"]: surprisal(bits, regions)}), lm["lm"], "bits")
    write_csv(out, pd.DataFrame(rows, columns=COLUMNS))
