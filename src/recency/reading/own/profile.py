"""Profiles of a table's columns: types, missing values, ranges, examples."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.reading import strict_tables
from recency.reading.formats import anything, rda, xlsx
from recency.reading.formats.anything import Style
from recency.reading.own.columns import MISSING
from recency.reading.strict_tables import Table

#: Most columns of a table that is described as a whole.
MOST_COLUMNS = 2_000
_EXAMPLES = 3
_SHOWN = 40  # maximum characters of the examples


@dataclass(frozen=True)
class Column:
    """Profile of a column; `kind` is number, whole number, true or false, text or nothing.

    `low`, `tenth`, `middle` and `high` are of numbers: the least, the first decile of those above
    0, the median and the largest; `zeros` and `missing` are rows.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    examples: tuple[str, ...]
    low: float = np.nan
    middle: float = np.nan
    high: float = np.nan
    zeros: int = 0
    tenth: float = np.nan

    @property
    def numeric(self) -> bool:
        """Return whether the column has numbers."""
        return self.kind in ("number", "whole number")


def read(path: Path) -> tuple[Table, Style]:
    """Read all columns of a table; return it with the detected encoding and decimal mark."""
    style = Style(encoding=_encoding(path))
    table = anything.read(path, style, lambda header: _few(path, header))
    if any(_has_comma(table[name]) for name in table.frame.columns):
        style = Style(encoding=style.encoding, decimal=",")
    return table, style


def _few(path: Path, header: list[str]) -> list[str]:
    """Return a header; raise InputError if it is too long for a table of words or times."""
    if len(header) > MOST_COLUMNS:
        raise InputError(
            f"{path} has {len(header):,} columns, and at most {MOST_COLUMNS:,} are described: write those "
            "with texts, words, readers and times into a file of their own, or turn the table if its "
            "rows are columns"
        )
    return header


def columns(table: Table, mark: str = ".") -> list[Column]:
    """Describe each column of a table, in its order."""
    return [_column(str(name), table[name], mark) for name in table.frame.columns]


def shown(columns: list[Column]) -> list[str]:
    """Return one line per column: name, kind, missing, distinct, range, examples."""
    head = ("column", "holds", "missing", "distinct", "least … median … largest", "examples")
    rows = [head]
    for c in columns:
        span = f"{c.low:g} … {c.middle:g} … {c.high:g}" if c.numeric else ""
        examples = ", ".join(c.examples)
        examples = examples if len(examples) <= _SHOWN else f"{examples[: _SHOWN - 1]}…"
        counts = (f"{c.missing:,}", f"{c.distinct:,}")
        rows.append((c.name, c.kind, *counts, span, examples))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _column(name: str, text: pd.Series, mark: str) -> Column:
    counts = text.value_counts()
    absent = counts.index.isin(MISSING)
    missing, given = int(counts[absent].sum()), counts[~absent]
    values = pd.Series(given.index, dtype="str")
    first = tuple(text[~text.isin(MISSING)].drop_duplicates().head(_EXAMPLES))
    if given.empty:
        return Column(name, "nothing", missing, 0, ())
    if values.str.casefold().isin(["true", "false"]).all():
        return Column(name, "true or false", missing, len(given), first)
    plain = values.str.replace(mark, ".", regex=False)
    numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype="float64")
    if not np.isfinite(numbers).all():
        missing = int(text.isin(["", "NA"]).sum())  # the rest may be words and names
        return Column(name, "text", missing, len(given), first)
    rows = np.repeat(numbers, given.to_numpy())
    kind = "whole number" if (numbers % 1 == 0).all() else "number"
    ends = float(rows.min()), float(np.median(rows)), float(rows.max())
    above = rows[rows > 0]
    tenth = float(np.quantile(above, 0.1)) if len(above) else np.nan
    return Column(name, kind, missing, len(given), first, *ends, int((rows == 0).sum()), tenth)


def _has_comma(text: pd.Series) -> bool:
    """Return whether a column's numbers have a decimal comma."""
    given = pd.Series(text[~text.isin(MISSING)].unique())
    if given.empty or not given.str.contains(",").any():
        return False
    return bool(given.str.fullmatch(r"-?\d+(,\d+)?").all())


def _encoding(path: Path) -> str:
    """Guess a text's encoding: UTF-8 if valid, else Windows-1252, the most common alternative."""
    if path.is_dir() or rda.is_r_data(path) or xlsx.is_workbook(path):
        return "utf-8"
    data = strict_tables.content(path)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            strict_tables.decode(path, data, "cp1252")
        except InputError:
            return "utf-8"  # errors are reported when the file is read
        return "cp1252"
    return "utf-8"
