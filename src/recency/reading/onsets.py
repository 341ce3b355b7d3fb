"""Word onsets, from a column of the responses or from self-paced times."""

import sys
from os import PathLike

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.files import write_parquet
from recency.reading.response_names import ONSET, TIME, has_onsets


def main(
    words: str | PathLike,
    responses: str | PathLike,
    out: str | PathLike,
    response: str,
    task: str | None = None,
) -> None:
    """Write `onsets` of a dataset's responses, before any filter; parameters as there."""
    tables = pd.read_parquet(words), pd.read_parquet(responses)
    write_parquet(onsets(*tables, response, task), out)


def onsets(
    words: pd.DataFrame, responses: pd.DataFrame, response: str, task: str | None = None
) -> pd.DataFrame:
    """Return the onset of each word that a subject saw, from the beginning of its item.

    Parameters
    ----------
    words, responses
        Contracts 1 and 2, all responses, before any filter.
    response
        <dataset>.<measure>. Without a column `onset_ms`, each time of a self-paced measure ends with
        the next word's onset. Words without a time are given the subject's median; their number is
        printed.
    task
        The dataset's task, if stated.

    Returns
    -------
    DataFrame
        subject, word_id and onset_ms, sorted by subject, item and onset. Words without an onset
        (skipped words) are omitted.

    Raises
    ------
    InputError
        If there are no onsets, or several responses to a word.
    """
    measure = response.partition(".")[2]
    where = f"{response}: deconvolve() needs onsets, and"
    for column, what in (("fixation", "fixations"), ("span", "responses to several words")):
        if column in responses:
            raise InputError(f"{where} these are {what}; write lags() instead")
    if not has_onsets(measure, responses.columns, task):
        raise InputError(
            f"{where} the responses have no column {ONSET} and are not self-paced; map a column to "
            f"{ONSET}, or write lags() instead"
        )
    if ONSET in responses:
        onset_rows = responses[["subject", "word_id", ONSET]].dropna(subset=ONSET)
        order = onset_rows.word_id.map(words.set_index("word_id")["item"])
        onset_rows = onset_rows.assign(item=order).sort_values(
            ["subject", "item", ONSET, "word_id"]
        )
        return onset_rows.drop(columns="item").reset_index(drop=True)
    return _accumulated(words, responses, where)


def _accumulated(words: pd.DataFrame, responses: pd.DataFrame, where: str) -> pd.DataFrame:
    if TIME not in responses:
        raise InputError(f"{where} the responses have no column {TIME}")
    item = words["item"].to_numpy()
    rows = responses[["subject", "word_id", TIME]].sort_values(["subject", "word_id"])
    reading = rows.subject.astype("str") + "\t" + item[rows.word_id]
    ends = rows.groupby(reading, sort=False).word_id.agg(["first", "last"])
    sizes = (ends["last"] - ends["first"] + 1).to_numpy()
    position = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    every = pd.DataFrame(
        {
            "subject": np.repeat(ends.index.str.partition("\t").get_level_values(0), sizes),
            "word_id": np.repeat(ends["first"].to_numpy(), sizes) + position,
            "reading": np.repeat(np.arange(len(sizes)), sizes),
        }
    )
    every = every.merge(rows, "left", ["subject", "word_id"], validate="1:1")
    if lacking := int(every[TIME].isna().sum()):
        print(
            f"onsets: {lacking:,} of {len(every):,} words lack a time, and are given their subject's median",
            file=sys.stderr,
        )
        every[TIME] = every[TIME].fillna(every.groupby("subject")[TIME].transform("median"))
    every[ONSET] = every.groupby("reading")[TIME].cumsum() - every[TIME]
    kinds = {"subject": "str", "word_id": "int32", ONSET: "float64"}
    return every[[*kinds]].astype(kinds)
