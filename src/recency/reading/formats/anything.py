"""A table as it is found, whatever its format: delimited text, Parquet, Feather, Excel, R's data."""

import csv
import io
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from recency.errors import InputError
from recency.reading import strict_tables
from recency.reading.formats import rda, xlsx
from recency.reading.strict_tables import Table, visible

_CHOICE = "\t;,| "
_LOOKED_AT = 30  # lines by which a separator is found


@dataclass(frozen=True)
class Style:
    """How a file is to be read, where it does not say so itself.

    `separator` None: the one that gives all lines the same number of fields; `sheet` of a workbook
    None: the first; `frame` of R's data None: the largest; `decimal` is the decimal mark.
    """

    separator: str | None = None
    encoding: str = "utf-8"
    sheet: str | None = None
    frame: str | None = None
    decimal: str = "."

    def __post_init__(self):
        for name, value in (("separator", self.separator), ("decimal", self.decimal)):
            if value is not None and (not isinstance(value, str) or len(value) != 1):
                raise InputError(f"options → {name}: {value!r} is not one character")


def read(
    path: Path,
    style: Style,
    choose: Callable[[list[str]], Iterable[str]] = list,
    rows: Mapping[str, Sequence[str]] | None = None,
) -> Table:
    """Read the columns that `choose` picks from their names; all values are text, missing ones "".

    `rows` has column → values: of a large Parquet file, rows without them may be left out.
    Rows are known by their lines, or their numbers in a file without lines. A name that is empty,
    as that of row names is, becomes `unnamed_1`, by its place. Raises InputError, in one line with
    the file's name, for a file that is absent, empty, damaged or of another kind.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file")
    if rda.is_r_data(path):
        _whole(path)
        with rda.any_as_csv(path, style.frame) as table:
            data = table.read_bytes()
        return _text(path, data, Style(separator=","), choose)
    if xlsx.is_workbook(path):
        return xlsx.read(path, style.sheet, lambda names: _picked(path, names, choose))
    _whole(path)
    if zipfile.is_zipfile(path):
        raise InputError(f"{path} is a zip archive; unzip it and name the table")
    if rows and (table := _parquet_rows(path, choose, rows)) is not None:
        return table
    data = strict_tables.content(path)
    if data[:4] == b"PAR1" or data[:6] == b"ARROW1":
        return _columnar(path, data, choose)
    if data[:2] == b"PK" or data[:4] == b"\xd0\xcf\x11\xe0":
        kind = "a damaged workbook" if data[:2] == b"PK" else "an old Excel workbook"
        raise InputError(f"{path} is {kind}; save the sheet as .xlsx or CSV")
    return _text(path, data, style, choose)


def named(header: Iterable[str]) -> list[str]:
    """Give a header's names as they are called here: visible, and none empty."""
    names = [visible(name) for name in header]
    return [name or f"unnamed_{place}" for place, name in enumerate(names, start=1)]


def separator_of(text: str) -> str:
    """Find the separator of a delimited text: that which cuts all of its first lines alike."""
    lines = [line for line in text.splitlines()[:_LOOKED_AT] if line.strip()]
    found = {}
    for separator in _CHOICE:
        try:
            rows = list(csv.reader(lines, delimiter=separator))
        except csv.Error:
            continue
        counts = [len(row) for row in rows]
        if counts and counts[0] > 1:
            found[separator] = (counts.count(counts[0]) / len(counts), -_CHOICE.index(separator))
    return max(found, key=found.get) if found else ","


def _whole(path: Path) -> None:
    """Raise InputError for a file that is not there or has no bytes."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if not size:
        raise InputError(f"{path} is empty; get the file again")


def _picked(path: Path, header: list[str], choose: Callable) -> list[str]:
    """Give the columns that are chosen; InputError where one of them stands twice."""
    chosen = list(dict.fromkeys(choose(header)))
    for name in chosen:
        if header.count(name) > 1:
            raise InputError(f"{path}, line 1: the header has {name} {header.count(name)} times")
    return chosen


def _text(path: Path, data: bytes, style: Style, choose: Callable) -> Table:
    """Read a delimited text."""
    text = strict_tables.decode(path, data, style.encoding)
    if not text.strip():
        raise InputError(f"{path} is empty; get the file again")
    separator = style.separator or separator_of(text)
    first = text.splitlines()[0]
    if not first.strip():
        raise InputError(f"{path}, line 1 is empty; the columns' names stand there")
    quoted = separator != "\t" or '"' in first or '"""' in text
    try:
        row = next(csv.reader(io.StringIO(first), delimiter=separator, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}, line 1: {error}; get the file again") from None
    header = named(row)
    if any(not visible(name) for name in row):  # the table is read by names, so all have one
        line = io.StringIO()
        csv.writer(line, delimiter=separator, lineterminator="").writerow(header)
        text = text.replace(first, line.getvalue(), 1)
    chosen = _picked(path, header, choose)
    return strict_tables.read(
        path, chosen, separator=separator, quoted=quoted, data=text.encode("utf-8", "replace")
    )


def _parquet_rows(path: Path, choose: Callable, rows: Mapping[str, Sequence[str]]) -> Table | None:
    """Read the rows of a Parquet file that have certain texts in its columns; None if that is not all to do.

    So a file of many LMs is not read whole. Lines are numbers of these rows, from 1.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
        names = named(schema.names)
        texts = {field.name for field in schema if pa.types.is_string(field.type)}
        if names != schema.names or not rows.keys() <= texts:
            return None
        chosen = _picked(path, names, choose)
        kept = [(name, "in", list(values)) for name, values in rows.items() if values]
        frame = pq.read_table(path, columns=chosen, filters=kept).to_pandas()
    except (pa.ArrowException, OSError):
        return None
    if frame.empty:
        return None
    frame = frame.reset_index(drop=True)
    return Table(path, strict_tables.as_text(path, frame.set_axis(range(1, len(frame) + 1))))


def _columnar(path: Path, data: bytes, choose: Callable) -> Table:
    """Read Parquet or Feather; its `lines` are the numbers of its rows, from 1."""
    kind = "Parquet" if data[:4] == b"PAR1" else "Feather"
    try:
        reader = pd.read_parquet if kind == "Parquet" else pd.read_feather
        frame = reader(io.BytesIO(data))
    except (ValueError, OSError) as error:  # PyArrow's are of these
        reason = " ".join(str(error).split())[:150]
        raise InputError(f"{path} is no whole {kind} file ({reason}); get it again") from None
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    header = named(str(name) for name in frame.columns)
    chosen = _picked(path, header, choose)
    if frame.empty:
        raise InputError(f"{path} has no rows")
    frame = frame.set_axis(header, axis=1)[chosen]
    return Table(path, strict_tables.as_text(path, frame.set_axis(range(1, len(frame) + 1))))
