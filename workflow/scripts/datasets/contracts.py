"""The two tables that every parser gives, built and checked (contract 1; responses)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from job import InputError

WORD_COLUMNS = ["item", "sentence", "position", "word_id", "word"]


def word_table(
    items: Sequence[str], sentences: Sequence[int], words: Sequence[str]
) -> pd.DataFrame:
    """Build contract 1 from words in reading order, their texts and their sentence numbers."""
    frame = pd.DataFrame(
        {"item": pd.Series(items, dtype="str"), "sentence": np.asarray(sentences, dtype=np.int32)}
    )
    frame["position"] = (frame.groupby("sentence", sort=False).cumcount() + 1).astype(np.int32)
    frame["word_id"] = np.arange(len(frame), dtype=np.int32)
    frame["word"] = pd.Series(words, dtype="str")
    return check_words(frame, "words")


def check_words(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Raise InputError, naming the first word at fault, unless `frame` keeps contract 1."""
    _columns(frame, WORD_COLUMNS, where)
    if frame.empty:
        raise InputError(f"{where}: no words")
    frame = frame[WORD_COLUMNS].reset_index(drop=True)
    new = frame.sentence != frame.sentence.shift()
    wrongs = {
        "is not the number of its row": frame.word_id != frame.index,
        "is empty or has a space inside": ~frame.word.str.fullmatch(r"\S+"),
        "belongs to a sentence that stands in two places": new & frame.sentence.duplicated(),
        "has not the next position of its sentence": frame.position
        != frame.groupby("sentence").cumcount() + 1,
        "belongs to another item than the word before it in its sentence": ~new
        & (frame["item"] != frame["item"].shift()),
        "belongs to an item that stands in two places": (frame["item"] != frame["item"].shift())
        & frame["item"].duplicated(),
    }
    for problem, wrong in wrongs.items():
        if wrong.any():
            row = frame[wrong].iloc[0]
            raise InputError(
                f"{where}: word {row.word_id} ({row.word!r}, sentence {row.sentence}) {problem}"
            )
    types = {"sentence": "int32", "position": "int32", "word_id": "int32"}
    return frame.astype({"item": "str", "word": "str", **types})


def check_responses(frame: pd.DataFrame, words: pd.DataFrame, where: str) -> pd.DataFrame:
    """Raise InputError unless `frame` has responses to `words`, with finite times >= 0 in ms.

    A subject may respond to a word once, or, if there is a column `fixation`, once a fixation.
    """
    _columns(frame, ["subject", "word_id", "time_ms"], where)
    if frame.empty:
        raise InputError(f"{where}: no responses")
    keys = ["subject", "word_id", *(["fixation"] if "fixation" in frame else [])]
    wrongs = {
        "is to a word that there is not": ~frame.word_id.isin(words.word_id),
        "is not a finite time": ~np.isfinite(frame.time_ms.astype("float64")),
        "is negative": frame.time_ms < 0,
        "repeats an earlier one of its subject": frame.duplicated(keys),
    }
    for problem, wrong in wrongs.items():
        if wrong.any():
            row = frame[wrong].iloc[0]
            response = f"the response {row.time_ms} of {row.subject} to word {row.word_id}"
            raise InputError(f"{where}: {response} {problem}")
    types = {"subject": "str", "word_id": "int32", "time_ms": "float64"}
    if "previous_fixated" in frame:
        types["previous_fixated"] = "boolean"
    return frame.astype(types).reset_index(drop=True)


def padded(names: pd.Series) -> pd.Series:
    """Spell numbered names with leading zeros, so that their order as text is the natural one."""
    parts = {name: re.fullmatch(r"(.*?)(\d*)", str(name)).groups() for name in names.unique()}
    width = max((len(digits) for _, digits in parts.values()), default=0)
    if len({prefix for prefix, _ in parts.values()}) > 1 or not all(d for _, d in parts.values()):
        return names.astype("str")
    spelled = {name: prefix + digits.zfill(width) for name, (prefix, digits) in parts.items()}
    if len(set(spelled.values())) < len(spelled):
        return names.astype("str")
    return names.map(spelled).astype("str")


def _columns(frame: pd.DataFrame, needed: list[str], where: str) -> None:
    for name in needed:
        if name not in frame.columns:
            raise InputError(f"{where}: no column {name}; there are {', '.join(frame.columns)}")
