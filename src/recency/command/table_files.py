"""Read and write the files of the command line; `-` is standard input or output."""

from __future__ import annotations

import csv
import io
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from readingtimes import parquet_bounds
from recency.errors import REFUSALS, InputError, warn

if TYPE_CHECKING:
    import pandas as pd

STANDARD = "-"
SEPARATORS = {".csv": ",", ".tsv": "\t"}
#: Missing values in CSV and TSV; "None" and "null" may be levels of a factor.
MISSING = ["", "NA", "NaN", "nan", "."]


def content(name: str) -> bytes:
    """Return the bytes of a file, or of standard input for `-`."""
    if name != STANDARD:
        return Path(name).read_bytes()
    if sys.stdin.isatty():
        print("reading standard input; end it with Ctrl-D", file=sys.stderr)
    return sys.stdin.buffer.read()


def text(name: str) -> str:
    """Return the text of a file; InputError, with the line, if it is not UTF-8."""
    data = content(name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{shown(name)}, line {line}: byte {data[error.start]:#04x} is not UTF-8; save it as UTF-8"
        ) from None


def shown(name: str) -> str:
    """Return a file's name for errors."""
    return "standard input" if name == STANDARD else name


def read(name: str) -> pd.DataFrame:
    """Read a table by its extension; for standard input, detect Parquet, TSV or CSV.

    A row with more or fewer fields than the header, a header that repeats a name or is there again, and
    another encoding are refused by line. Missing values in a column of numbers that are written otherwise,
    and numbers that are written with commas, are warned of. Rows are called by their lines.
    """
    import pandas as pd

    ending = Path(name).suffix.lower()
    if name != STANDARD:
        check_ending(name)
    data = content(name)
    if not data or data.isspace():
        raise InputError(f"{shown(name)} is empty")
    if name == STANDARD:
        first = data.partition(b"\n")[0]
        tabs = ".tsv" if b"\t" in first else ".csv"
        ending = ".parquet" if data[:4] == b"PAR1" else tabs
    if ending == ".parquet":
        try:
            parquet_bounds.require_room(data, shown(name))
            return pd.read_parquet(io.BytesIO(data))
        except REFUSALS:
            raise
        except (ValueError, OSError, MemoryError, NotImplementedError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{shown(name)} cannot be read as parquet: {reason}") from None
    first, separator = data.partition(b"\n")[0].decode("latin-1"), SEPARATORS[ending]
    if separator not in first:
        separator = next((mark for mark in ";\t," if mark in first), separator)
    frame = _plain_table(data, separator)
    frame = _strict(name, data, separator) if frame is None else frame
    return frame


_NUMBERS = 0.3
"""Share of a column's different labels that begin as numbers do, above which they are looked at."""


def _plain_table(data: bytes, separator: str) -> pd.DataFrame | None:
    """Return a table whose rows are whole, and whose labels are none like numbers; else None.

    pandas refuses a row with more fields than the first, and takes one field too many in all of them for
    names of rows; a row with fewer it fills with missing values, as the last column then shows.
    """
    import pandas as pd

    data = data.removeprefix(b"\xef\xbb\xbf")  # else pandas decodes line by line
    if separator == "\t" and b'"' in data:
        return None
    try:
        header = data[: data.find(b"\n")].decode().rstrip("\r")
        names = next(csv.reader([header], delimiter=separator))
        parse = partial(pd.read_csv, sep=separator, keep_default_na=False, na_values=MISSING)
        try:  # in parts is faster, but each part has its own types
            with warnings.catch_warnings(action="error", category=pd.errors.DtypeWarning):
                frame = parse(io.BytesIO(data))
        except pd.errors.DtypeWarning:
            frame = parse(io.BytesIO(data), low_memory=False)
    except (ValueError, OSError, MemoryError, StopIteration, csv.Error):
        return None
    if list(frame.columns) != names or not isinstance(frame.index, pd.RangeIndex) or frame.empty:
        return None
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if lines != len(frame) + 1:
        return None
    if frame.iloc[:, -1].isna().any() and (
        b'"' in data or data.count(separator.encode()) != lines * (len(names) - 1)
    ):
        return None
    for name in names:
        if not pd.api.types.is_numeric_dtype(frame[name]):  # bool is numeric
            labels = frame[name].drop_duplicates().dropna().astype("str")
            odd = labels.str.contains("\n") | (labels != labels.str.strip())
            numbers = labels.str.contains(r"^[-+.,\d]*\d").mean() > _NUMBERS
            if numbers or odd.any() or name != name.strip():
                return None
    return frame.set_axis(pd.RangeIndex(2, lines + 1, name="line"))


def _strict(name: str, data: bytes, separator: str) -> pd.DataFrame:
    """Read a table as text, line by line where needed, and convert its columns."""
    import pandas as pd

    from readingtimes.formats import anything
    from readingtimes.own import columns

    path = Path(shown(name))
    table = anything.of_text(path, data, anything.Style(separator))
    style = columns.style_of(table, anything.Style())
    frame = {}
    for column in columns.columns(table, style):
        text = table[column.name]
        text = text.mask(text.isin(MISSING), None)
        if column.numeric and column.odd is None:
            plain = columns.numerals(text, style)
            if (plain != text).any():
                line = text.index[(plain != text).to_numpy()][0]
                warn(f"{path}: {column.name} is read as numbers, {text[line]!r} as {plain[line]}")
            text = pd.to_numeric(plain, errors="coerce")
            if column.spellings:
                listed = ", ".join(map(repr, column.spellings))
                warn(f"{path}: {listed} of {column.name}, a column of numbers, are missing values")
        elif column.kind == "true or false":
            text = text.str.casefold().map({"true": True, "false": False})
        frame[column.name] = text
    return pd.DataFrame(frame).rename_axis("line")


def check_ending(name: str) -> None:
    """Raise InputError for a file without the extension of a table, other than `-`."""
    if name != STANDARD and Path(name).suffix.lower() not in (*SEPARATORS, ".parquet"):
        raise InputError(f"{name} must end in .csv, .tsv or .parquet")


def write(table: pd.DataFrame, name: str) -> None:
    """Write a table without its index in the format of its extension; to standard output as CSV.

    A terminal gets aligned columns with three decimals.
    """
    from readingtimes.files import atomic

    if name == STANDARD:
        if sys.stdout.isatty():
            print(aligned(table))
        else:
            table.to_csv(sys.stdout, index=False, lineterminator="\n")
        return
    ending = Path(name).suffix.lower()
    with atomic(name) as part:
        if ending == ".parquet":
            table.to_parquet(part, index=False)
        else:
            table.to_csv(part, sep=SEPARATORS[ending], index=False, lineterminator="\n")


def aligned(table: pd.DataFrame) -> str:
    """Return a table for a terminal: text at the left, numbers at the right, with three decimals.

    >>> import pandas as pd
    >>> print(aligned(pd.DataFrame({"word": ["a", "letter"], "bits": [1.25, float("nan")]})))
    word     bits
    a       1.250
    letter
    """
    import pandas as pd

    columns = []
    for name, column in table.items():
        if pd.api.types.is_float_dtype(column):
            cells = ["" if pd.isna(value) else f"{value:.3f}" for value in column]
        else:
            cells = ["" if pd.isna(value) else str(value) for value in column]
        is_number = pd.api.types.is_numeric_dtype(column)
        width = max(map(len, [str(name), *cells]))
        columns.append(
            [cell.rjust(width) if is_number else cell.ljust(width) for cell in [str(name), *cells]]
        )
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))
