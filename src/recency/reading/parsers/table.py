"""Bring your own corpus: one CSV, TSV or Parquet file, its columns named in the config, no code.

The option `columns` maps what is needed to the columns of the file; a name left out is a column
of that very name:

- `item`, `sentence` (a whole number, one only in the whole file, in reading order), `position`
  (from 1 within the sentence), `word`: of the words. The same file may hold words and responses.
- `space_after`, if there is one: true or false, whether a space follows the word in the text.
- `subject`; `word_id` (from 0, in reading order) or `sentence` and `position`; and each measure
  (`SPR: my_rt`; `time_ms` serves a measure that is not mapped): of the responses. A measure is a
  time in ms, 0 for a word that was not fixated.
- any other name: a column kept for the filters, as numbers if it holds nothing else.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from recency.errors import InputError
from recency.reading.contracts import look_up, padded, word_table
from recency.reading.fixations import previous_fixated, since_fixation
from recency.reading.tables import Table, first_rows, only, read

MEASURES = None

_WORDS = ("item", "sentence", "position", "word")


def words(
    files: dict[str, Path],
    *,
    columns: dict[str, str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> pd.DataFrame:
    """Read the words; rows that repeat a word for another subject must agree."""
    names = {name: (columns or {}).get(name, name) for name in _WORDS}
    path = only(files, "words of a table")
    space = (columns or {}).get("space_after")
    table = read(
        path,
        [*names.values(), *([space] if space else [])],
        optional=["space_after"],
        separator=separator,
        encoding=encoding,
    )
    frame = pd.DataFrame({"item": table[names["item"]], "word": table[names["word"]]})
    same = ["item", "word"]
    if (space := space or "space_after") in table:
        frame["space_after"] = _spaces(table, space)
        same.append("space_after")
    for name in ("sentence", "position"):
        frame[name] = table.numbers(names[name], integer=True)
    first, other = first_rows(frame, ["sentence", "position"], same)
    if len(other):
        row = other.iloc[0]
        if row["item"] == row.item_first and row.word == row.word_first:
            table.fail(row.name, f"word {row.position} of sentence {row.sentence}: {space} differs")
        table.fail(
            row.name,
            f"word {row.position} of sentence {row.sentence} is {row.word!r} of {row['item']}, before "
            f"it was {row.word_first!r} of {row.item_first}; sentences are numbered through the "
            "whole file",
        )
    first = first.sort_values(["sentence", "position"])
    made = word_table(first["item"].to_numpy(), first.sentence.to_numpy(), first.word.to_numpy())
    wrong = made.position.to_numpy() != first.position.to_numpy()
    if wrong.any():
        row = first[wrong].iloc[0]
        table.fail(
            first.index[wrong][0], f"sentence {row.sentence} has no word before {row.position}"
        )
    return made.assign(space_after=first.space_after.to_numpy()) if "space_after" in first else made


def responses(
    files: dict[str, Path],
    words: pd.DataFrame,
    measure: str,
    *,
    columns: dict[str, str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    eye_tracking: bool = False,
) -> pd.DataFrame:
    """Read `measure` in ms, the subject and what else is mapped.

    With `eye_tracking`, words_since_fixation and previous_fixated are counted over the rows of
    the file (each subject's words in reading order), unless columns are mapped to them.
    """
    columns = dict(columns or {})
    path = only(files, "responses of a table")
    time = columns.get(measure, columns.get("time_ms", "time_ms"))
    subject = columns.get("subject", "subject")
    style = {"separator": separator, "encoding": encoding}
    keys = {name: columns.get(name, name) for name in ("word_id", "sentence", "position")}
    own = ("item", "word", "space_after", "subject", "time_ms", *keys)
    others = {n: c for n, c in columns.items() if n not in own}
    others = {n: c for n, c in others.items() if c != time}
    table = read(path, [subject, time], optional=[*keys.values(), *others.values()], **style)
    for name, column in others.items():
        if column not in table:
            raise InputError(
                f"{path} has no column {column}, which options → columns → {name} names"
            )
    frame = pd.DataFrame(
        {"subject": padded(table[subject]), "word_id": _word_ids(table, keys, words)}
    )
    frame["time_ms"] = table.numbers(time)
    for name, column in others.items():
        frame[name] = _typed(table[column])
    again = frame.duplicated(["subject", "word_id"])
    if again.any():
        line = frame.index[again][0]
        table.fail(
            line,
            f"subject {table[subject][line]} has a response to this word already "
            f"({again.sum():,} such rows)",
        )
    if eye_tracking:
        fixated = frame.time_ms > 0
        item = frame.word_id.map(words.set_index("word_id")["item"])
        if "words_since_fixation" not in frame:
            frame["words_since_fixation"] = since_fixation(fixated)
        if "previous_fixated" not in frame:
            frame["previous_fixated"] = previous_fixated(fixated, [frame.subject, item])
    return frame.reset_index(drop=True)


def _word_ids(table: Table, keys: dict[str, str], words: pd.DataFrame) -> pd.Series:
    """Find each row's word by its number, or by sentence and position."""
    if keys["word_id"] in table:
        ids = table.numbers(keys["word_id"], integer=True)
        missing = ~ids.isin(words.word_id)
    else:
        for name in ("sentence", "position"):
            if keys[name] not in table:
                raise InputError(
                    f"{table.path} has neither a column {keys['word_id']} nor {keys[name]}: "
                    "options → columns must name word_id, or sentence and position"
                )
        places = [table.numbers(keys[name], integer=True) for name in ("sentence", "position")]
        ids = look_up(words, ("sentence", "position"), *places).word_id
        missing = ids.isna()
    if missing.any():
        line = ids.index[missing][0]
        table.fail(line, f"there is no such word in the words ({missing.sum():,} such rows)")
    return ids.astype("int32")


def _spaces(table: Table, name: str) -> pd.Series:
    """Read whether a space follows each word."""
    folded = table[name].str.casefold()
    wrong = ~folded.isin(["true", "false"])
    if wrong.any():
        line = folded.index[wrong][0]
        table.fail(line, f"{name} is {table[name][line]!r}, neither true nor false")
    return folded == "true"


def _typed(column: pd.Series) -> pd.Series:
    """Give numbers as numbers, true and false as such, and anything else as text."""
    folded = column.str.casefold()
    if folded.isin(["true", "false"]).all():
        return folded == "true"
    values = pd.to_numeric(column, errors="coerce")
    return column if values.isna().any() else values
