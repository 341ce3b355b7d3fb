"""Predictors of words from the user's tables, joined by position in the text or by word type."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.errors import InputError
from readingtimes.formats import anything
from readingtimes.formats.anything import Style
from readingtimes.joins import TYPE, engine
from readingtimes.joins import index as labels
from readingtimes.own.columns import lacking, typed
from readingtimes.strict_tables import Table, warn


def attach(
    words: pd.DataFrame,
    path: str | Path,
    keys: Mapping[str, str],
    columns: Mapping[str, str],
    join: Mapping[str, str] | None = None,
    items: Mapping[str, str] | str | None = None,
    sentences: Mapping[str, str] | str | None = None,
) -> pd.DataFrame:
    """Return words with further columns from a table.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows.
    path : path
        The table: CSV, TSV, Parquet, Excel, R's data.
    keys : mapping of str to str
        Join key (one of `join_keys.KEYS`, or only `type`, the word type) → the table's column.
    columns : mapping of str to str
        The new column's name → the table's column.
    join, items, sentences : mapping or "order", optional
        Interpretation of keys, as for responses (docs/joins.md).

    Returns
    -------
    DataFrame
        The words, W rows; a column is null for words that the table lacks.

    Raises
    ------
    InputError
        If a column is missing, the words have one of that name, the join is not verified, or the
        table has two different rows for a word.
    """
    path = Path(path)
    if taken := [name for name in columns if name in words]:
        raise InputError(f"{path}: the words have a column {taken[0]} already; name it otherwise")

    def choose(there: list[str]) -> list[str]:
        for column in (*keys.values(), *columns.values()):
            if column not in there:
                raise lacking(path, column, there)
        return list(dict.fromkeys([*keys.values(), *columns.values()]))

    table = anything.read(path, Style(), choose)
    table = Table(table.path, table.frame.drop_duplicates())
    if TYPE in keys:
        source, report = _by_type(words, table, keys), "joined by the words' types"
    else:
        options = {"join": join, "items": items, "sentences": sentences}
        source, report = _by_place(words, table, keys, options)
    has = source >= 0
    named = ", ".join(columns)
    warn(path, f"{has.sum():,} of {len(words):,} words have a value of {named}; {report}")
    result = words.copy()
    for name, column in columns.items():
        values = typed(table, column, None).reset_index(drop=True)
        result[name] = values.reindex(np.where(has, source, len(values))).to_numpy()
    return result


def _by_type(words: pd.DataFrame, table: Table, keys: Mapping[str, str]) -> np.ndarray:
    """Return the table's row for each word type, as written or without case and punctuation."""
    listed = table[keys[TYPE]]
    if (again := listed.duplicated()).any():
        line = listed.index[again][0]
        table.fail(line, f"a second row for {listed[line]!r}, with other values")
    exact = pd.Series(np.arange(len(listed)), index=listed)
    plain = pd.Series(np.arange(len(listed)), index=labels.spellings(listed))
    plain = plain[~plain.index.duplicated()]
    rows_of_type = words["word"].map(exact)
    rows_of_type = rows_of_type.fillna(pd.Series(labels.spellings(words["word"])).map(plain))
    return rows_of_type.fillna(-1).to_numpy(dtype=np.int64)


def _by_place(
    words: pd.DataFrame, table: Table, keys: Mapping, options: Mapping
) -> tuple[np.ndarray, str]:
    """Return the row of the table for each word (-1: none), and the join report."""
    rows = pd.DataFrame(index=table.frame.index)
    for name in ("item", "sentence"):
        if name in keys:
            rows[name] = labels.renamed(table[keys[name]], options[f"{name}s"], f"{name}s")
    for name in ("word_id", "position", "offset"):
        if name in keys:
            rows[name] = table.numbers(keys[name], integer=True)
    if "length" in keys:
        rows["length"] = table.numbers(keys["length"])
    for name in ("word", "unique_id"):
        if name in keys:
            rows[name] = table[keys[name]]
    chosen = dict(options["join"] or {})
    chosen |= {n: labels.ORDER for n in ("item", "sentence") if options[f"{n}s"] == labels.ORDER}
    joined = engine.join(words, rows, table.path, chosen=chosen, partial=True)
    row = np.where(joined.misplaced, -1, joined.row)
    has = row >= 0
    if (again := pd.Series(row[has]).duplicated().to_numpy()).any():
        at = np.flatnonzero(has)[int(np.argmax(again))]
        word = words["word"].iloc[row[at]]
        table.fail(table.frame.index[at], f"a second row for {word!r}, with other values")
    source = np.full(len(words), -1, np.int64)
    source[row[has]] = np.flatnonzero(has)
    return source, f"joined by {joined.report}"
