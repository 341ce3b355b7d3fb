"""Data frames of any library, and warnings of columns that may mean something else than they say."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

import pandas as pd

from readingtimes.errors import warn

_FEW = 50
"""Most labels of a column that is no words of texts."""
_NUMBERS = 0.95
"""Share of a column's cells that are numbers, from which on its labels are doubtful."""


def in_pandas(data: Any) -> Any:
    """Return a table of Polars, Arrow or DuckDB as a data frame of pandas, anything else as it is."""
    if isinstance(data, pd.DataFrame) or not hasattr(data, "__arrow_c_stream__"):
        return data
    if not hasattr(data, "columns"):  # a column
        return data
    import pyarrow

    return pyarrow.table(data).to_pandas()


def warn_of(
    frame: pd.DataFrame, what: str, names: Iterable[str], labels: Collection[str] = ()
) -> None:
    """Warn of columns with codes of missing values, numbers that are text, or labels in two spellings.

    Parameters
    ----------
    frame : DataFrame
        Rows in any order; messages name them by its index, and call it as that is called ("row" without
        a name).
    what : str
        Name of the frame in messages.
    names : iterable of str
        Columns to look at.
    labels : collection of str
        Those of them whose numbers are labels.
    """
    row = frame.index.name or "row"
    for name in names:
        column = frame[name]
        if column.ndim > 1 or pd.api.types.is_bool_dtype(column):  # columns of one name are refused
            continue
        if pd.api.types.is_numeric_dtype(column):
            found = _code(column)
        else:
            found = ("" if name in labels else _text_of_numbers(column, row)) or _spellings(column)
        if found:
            warn(f"{what}: {name} {found}")


def _code(column: pd.Series) -> str:
    """Describe a code of missing values in a column of numbers, "" without one."""
    for value in (column.min(), column.max()):
        if re.fullmatch(r"-?9{3,}(\.0)?", str(value)):
            others = column[column != value]
            count = len(column) - len(others) - int(column.isna().sum())
            if count > 1 and (2 * others.abs().max() < abs(value) or value < 0 <= others.min()):
                return f"is {value:g} in {count:,} rows: leave these cells empty if values are missing there"
    return ""


def _text_of_numbers(column: pd.Series, row: str) -> str:
    """Describe a column of text most of whose cells are numbers, "" for another one."""
    counts = column.value_counts()
    text = counts.index.astype("str")
    numbers = pd.to_numeric(text.str.replace(",", "."), errors="coerce").notna()
    if counts.empty or counts[numbers].sum() < _NUMBERS * counts.sum():
        return ""
    if numbers.all():
        return f"holds numbers as text, such as {text[0]!r}, which are labels: convert them if they are none"
    first = column[column.isin(counts.index[~numbers])][:1]
    return (
        f"is {first.iloc[0]!r} in {row} {first.index[0]}, no number ({counts[~numbers].sum():,} such cells of "
        f"{counts.sum():,}), so its values are labels; if they are numbers, correct the cells"
    )


def _spellings(column: pd.Series) -> str:
    """Describe labels in two spellings, or with a unit after each number; "" without any."""
    labels = column.drop_duplicates().dropna().astype("str")
    same = labels.str.strip().str.casefold().duplicated(keep=False)
    if same.any() and (len(labels) <= _FEW or same.mean() > 0.5):
        shown = ", ".join(map(repr, sorted(labels[same], key=str.casefold)[:2]))
        return f"has labels in two spellings, {shown}, which are different levels"
    if len(labels) > 2 and labels.str.fullmatch(r"[-+]?\d[\d.,]*\s*[^\d\s]{1,3}").mean() > _NUMBERS:
        return f"has labels such as {labels.iloc[0]!r}, which are no numbers, but levels"
    return ""
