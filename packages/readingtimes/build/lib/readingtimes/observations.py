"""Responses with their words, filtered as a paper filters them, with the rows that each step drops."""

from collections.abc import Mapping, Sequence

import pandas as pd

from readingtimes import filters as conditions
from readingtimes.errors import InputError


def joined(words: pd.DataFrame, responses: pd.DataFrame) -> pd.DataFrame:
    """Join each response to its word and the flags sentence_first, _last, item_first and item_last.

    The rows stay in the order of `responses`.
    """
    words = words.sort_values("word_id")
    flags = {}
    for name in ("sentence", "item"):
        flags[f"{name}_first"] = ~words[name].duplicated()
        flags[f"{name}_last"] = ~words[name].duplicated(keep="last")
    by_word = words.assign(**flags).set_index("word_id")
    if (lost := ~responses.word_id.isin(by_word.index)).any():
        raise InputError(
            f"{lost.sum():,} responses are to unknown words (word_id "
            f"{responses.word_id[lost].iloc[0]} is one): the two files are of different data sets"
        )
    shared = [name for name in by_word if name in responses]
    frame = responses.drop(columns=shared).join(by_word, on="word_id")
    if "previous_fixated" not in frame:
        frame["previous_fixated"] = pd.NA
    return frame.astype({"previous_fixated": "boolean"})


def filtered(
    frame: pd.DataFrame, filters: Sequence[Mapping[str, str]]
) -> tuple[pd.DataFrame, list[tuple[str, int, int | None]]]:
    """Apply the filters in order; return the rest and (step, rows kept, rows dropped) per step."""
    counts: list[tuple[str, int, int | None]] = [("presented", len(frame), 0)]
    for step in filters:
        keep = _holds(frame, step["name"], step["keep"])
        counts.append((step["name"], int(keep.sum()), int((~keep).sum())))
        if not keep.any():
            raise InputError(
                f"filters → {step['name']}: {step['keep']!r} drops all {len(frame):,} responses "
                "that were left"
            )
        frame = frame[keep]
    return frame.copy(), counts


def events(frame: pd.DataFrame, query: str, where: str) -> pd.Series:
    """Return 1.0 for rows in which an event happened, else 0.0.

    Raises InputError if the query is undefined because a column is missing.
    """
    happened = conditions.evaluated(frame, f"event: {query!r}", query)
    if missing := [name for name in conditions.read(query).columns if frame[name].isna().any()]:
        count = int(frame[missing[0]].isna().sum())
        raise InputError(
            f"{where}: the event {query!r} needs {missing[0]}, which is missing in {count:,} of "
            f"{len(frame):,} rows; filter them out"
        )
    return happened.astype("float64")


def _holds(frame: pd.DataFrame, name: str, keep: str) -> pd.Series:
    """Evaluate a filter; raise InputError if it is undefined for a row."""
    holds = conditions.evaluated(frame, f"filters → {name}: {keep!r}", keep)
    return holds.fillna(False).astype(bool)
