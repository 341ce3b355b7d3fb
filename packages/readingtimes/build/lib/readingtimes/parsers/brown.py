"""Brown corpus, self-paced reading (Smith & Levy, 2013): brown_spr.csv.

35 subjects read 13 passages. One row per subject and word: subject, text_id, text_pos (the word's
position in its passage), word, time (ms). words: the same file, and optionally `sentences`, one
sentence per line for all passages; by default `sentences.ends` finds them.
"""

from pathlib import Path

import pandas as pd

from readingtimes.contracts import look_up, padded, word_table
from readingtimes.errors import InputError
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import first_rows, only, read

MEASURES = ("SPR",)
COLUMNS = {}

_KEYS = ["text_id", "text_pos"]


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the words shown to any subject, one item per passage; spaces within words are removed."""
    files = dict(files)
    given = files.pop("sentences", None)
    path = only(files, "words of brown")
    first, other = first_rows(_rows(path), _KEYS, ["word"])
    if len(other):
        row = other.iloc[0]
        raise InputError(
            f"{path}, line {row.name}: word {row.text_pos} of text {row.text_id} is {row.word!r}, "
            f"before it was {row.word_first!r}"
        )
    first = first.sort_values(_KEYS)
    items = padded(first.text_id.astype("str"))
    sentences = sentence_numbers(first.word, first.text_id, given)
    return word_table(items.to_numpy(), sentences, first.word.to_numpy())


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read reading times in ms; repeated words of a subject are dropped and reported."""
    path = only(files, "responses of brown")
    frame = _rows(path, times=True)
    places = frame[_KEYS].drop_duplicates().sort_values(_KEYS)
    if len(places) > len(words):
        raise InputError(f"{path} has {len(places):,} words, its words were read from another file")
    rank = frame.groupby("text_id").text_pos.rank(method="dense").astype("int64")
    matched = look_up(words, ("item", "place"), frame.text_id, rank)
    wrong = matched.word.to_numpy() != frame.word.to_numpy()
    if wrong.any():
        at = frame[wrong].iloc[0]
        raise InputError(
            f"{path}, line {frame.index[wrong][0]}: word {at.text_pos} of text {at.text_id} is "
            f"{at.word!r}, in the words it is {matched.word[wrong].iloc[0]!r}"
        )
    frame["word_id"] = matched.word_id.astype("int32")
    return frame[["subject", "word_id", "time_ms"]].reset_index(drop=True)


def _rows(path: Path, times: bool = False) -> pd.DataFrame:
    """Read subject, text_id, text_pos, word (and time_ms), one row a line of the file."""
    names = ["subject", *_KEYS, "word"] + (["time"] if times else [])
    table = read(path, names, separator=None)
    if times:
        table = table.once(["subject", *_KEYS], drop=True)
    frame = pd.DataFrame({key: table.numbers(key, integer=True) for key in _KEYS})
    frame["word"] = table["word"].str.replace(r"\s+", "", regex=True)
    frame["subject"] = padded(table["subject"])
    if times:
        frame["time_ms"] = table.numbers("time")
    return frame
