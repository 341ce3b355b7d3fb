"""Strict reading of tables: errors name file, line and value."""

from __future__ import annotations

import csv
import gzip
import io
import operator
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np
import pandas as pd

from readingtimes import at_once, errors, parquet_bounds
from readingtimes.errors import InputError
from readingtimes.names import hint

_SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon"}
LARGEST = 2**31 - 1
"""Largest permitted integer: positions, sentences and word ids are int32."""
# Invisible characters that are not part of words or names: zero-width characters and soft hyphens.
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff\u00ad\u200e\u200f"))


@dataclass(frozen=True)
class Table:
    """Columns of text; the frame's index is a row's line in the file, from 1.

    A row that is a word of a list has the line and the word's number: "12, word 3".
    """

    path: Path
    frame: pd.DataFrame

    def __getitem__(self, column: str) -> pd.Series:
        return self.frame[column]

    def __contains__(self, column: str) -> bool:
        return column in self.frame.columns

    def fail(self, line: int, problem: str) -> NoReturn:
        """Raise InputError for a line."""
        raise InputError(f"{self.path}, line {line}: {problem}")

    def numbers(
        self,
        column: str,
        *,
        integer: bool = False,
        minimum: float | None = 0,
        missing: Sequence[str] = (),
    ) -> pd.Series:
        """Return a column as float64 (NaN for spellings in `missing`) or int64.

        Raises InputError for the first value that is not a finite number, is below `minimum`, or, with
        `integer`, is not an integer or exceeds `LARGEST`.
        """
        text = self.frame[column]
        absent = text.isin(list(missing)).to_numpy()
        values = pd.to_numeric(text.mask(absent), errors="coerce").astype("float64")
        self._none(~np.isfinite(values.to_numpy()) & ~absent, column, "not a number")
        if integer:
            self._none((values % 1 != 0).to_numpy() & ~absent, column, "not a whole number")
            self._none((values.abs() > LARGEST).to_numpy(), column, "too large for a whole number")
        if minimum is not None:
            self._none((values < minimum).to_numpy(), column, f"less than {minimum:g}")
        return values.astype("int64") if integer and not absent.any() else values

    def _none(self, wrong, column: str, what: str) -> None:
        if wrong.any():
            first, more = int(np.argmax(np.asarray(wrong))), wrong.sum()
            value = self.frame[column].iloc[first]
            such = f" ({more:,} such rows)" if more > 1 else ""
            self.fail(self.frame.index[first], f"{column} is {value!r}, {what}{such}")

    def without(self, rows: pd.Series, why: str) -> Table:
        """Drop the rows marked by `rows`, and warn with their number and the first line."""
        rows = rows.to_numpy(dtype=bool)
        if not rows.any():
            return self
        warn(
            self.path,
            f"{rows.sum():,} rows dropped, {why} (first: line {self.frame.index[rows][0]})",
        )
        return replace(self, frame=self.frame[~rows])

    def once(self, keys: Sequence[str], *, drop: bool = False) -> Table:
        """Raise InputError if `keys` repeat an earlier row; with `drop`, drop and report repeats."""
        again = self.frame.duplicated(list(keys))
        if not again.any():
            return self
        line = again.index[again][0]
        value = ", ".join(f"{key} {self.frame.at[line, key]}" for key in keys)
        if drop:
            return self.without(again, f"repeats of an earlier row ({value} is one)")
        self.fail(
            line, f"{value} repeats an earlier row ({again.sum():,} such rows); each may stand once"
        )


@dataclass(frozen=True)
class Tables(Table):
    """Concatenated tables; a row's index is its line counted across all of them.

    `firsts` has the name of each file within `path`, and the number of lines before it.
    """

    firsts: Sequence[tuple[str, int]]

    def fail(self, line: int, problem: str) -> NoReturn:
        """Raise InputError for a line of one of the files."""
        name, before = [first for first in self.firsts if first[1] < line][-1]
        raise InputError(f"{self.path}/{name}, line {line - before}: {problem}")


def first_rows(
    frame: pd.DataFrame, keys: list[str], same: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the first row for each `keys`, and the rows that differ from it in a column of `same`.

    The latter also have the first's values, as `<column>_first`; all keep their index.
    """
    first = frame.drop_duplicates(keys)
    both = frame.merge(first, on=keys, how="left", suffixes=("", "_first")).set_axis(frame.index)
    differ = [both[name] != both[f"{name}_first"] for name in same]
    return first, both[np.logical_or.reduce(differ)]


def join_tables(path: Path, tables: Iterable[tuple[str, Table]]) -> Table:
    """Concatenate tables with the same columns, given with their file names."""
    firsts, frames, before = [], [], 0
    tables = list(tables)
    if any(not pd.api.types.is_numeric_dtype(table.frame.index) for _, table in tables):
        named = [
            table.frame.set_axis([f"{line} of {name}" for line in table.frame.index])
            for name, table in tables
        ]
        return Table(path, pd.concat(named))
    for name, table in tables:
        firsts.append((name, before))
        frames.append(table.frame.set_axis(table.frame.index + before))
        before = int(frames[-1].index[-1])
    return Tables(path, pd.concat(frames), firsts)


def warn(path: Path | str, what: str) -> None:
    """Warn of a correction or omission, which commands and jobs show on stderr."""
    errors.warn(f"{path}: {what}")


def read(
    path: str | Path,
    columns: Iterable[str],
    *,
    optional: Iterable[str] = (),
    separator: str | None = "\t",
    quoted: bool | None = None,
    encoding: str = "utf-8",
    data: bytes | None = None,
    before: int = 0,
) -> Table:
    """Read `columns` (and existing `optional` ones) of a delimited or Parquet file.

    `separator` None detects tab, comma or semicolon by the columns; `quoted`: fields may be in double
    quotes (None: unless the separator is a tab and not `quoted_by_need`). A byte order mark, CRLF and gzip
    are accepted silently, empty lines with a warning. `data` is the content of the file, if already read,
    below the first `before` lines. Raises InputError for a missing file, another encoding, missing or
    repeated columns, a row that has more or fewer fields than the header or equals it, and a file without
    rows.
    """
    path, columns, optional = Path(path), list(columns), list(optional)
    data = content(path) if data is None else data
    if data[:4] == b"PAR1":
        return _parquet(path, columns, optional)
    text = decode(path, data, encoding)
    if not text.strip():
        raise InputError(f"{path} is empty; get the file again")
    header_line = text.splitlines()[0]
    if separator is None:
        separator = max(_SEPARATORS, key=lambda s: len(set(columns) & set(_fields(header_line, s))))
    if quoted is None:
        quoted = separator != "\t" or quoted_by_need([text])
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    rows = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True
    )
    try:
        first = next(rows)
        header = [visible(name) for name in first]
        places = _places(path, header, header_line, columns, optional, separator)
        frame = at_once.read(text, separator, quoted, first, places)
        if frame is None:
            frame = _by_row(path, rows, first, places, text, quoted, before)
        elif before:
            frame = frame.set_axis(frame.index + before)
    except csv.Error as error:
        line = rows.line_num + before
        raise InputError(f"{path}, line {line}: {error}; get the file again") from error
    if not text.endswith(("\n", "\r")):
        warn(
            path,
            f"line {frame.index[-1]} has no end of line; if the file was cut off, get it again",
        )
    return Table(path, frame.apply(lambda column: column.str.strip()))


_WITH_QUOTES = re.compile(r"(?:^|\t)([^\t\r\n]*\"[^\t\r\n]*)", re.MULTILINE)
#: A field as R and pandas write one that holds quotes: in quotes, those inside doubled.
_IN_QUOTES = re.compile(r'"(?=.*"".*")(?:[^"]|"")*"')
_HEADER_IN_QUOTES = re.compile(r'"[^"\r\n]*"(?:\t"[^"\r\n]*")*(?:[\r\n]|$)')


def quoted_by_need(blocks: Iterable[str]) -> bool:
    """Return whether a tab-separated text has its fields with quotes in quotes: all of them, or it has none.

    A word that begins with a quote then begins with three, which read as they are make another word.
    A header in quotes says that all text is in them. `blocks` are of whole lines, and read no further
    than the first field that decides.
    """
    found = False
    for number, block in enumerate(blocks):
        if number == 0 and _HEADER_IN_QUOTES.match(block):
            return True
        if '"' not in block:
            continue
        if not all(_IN_QUOTES.fullmatch(match[1]) for match in _WITH_QUOTES.finditer(block)):
            return False
        found = True
    return found


def tab_separated(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each row of a tab-separated text, `quoted_by_need` or not.

    Raises InputError for a quoted text with a quote that has no end.
    """
    if not quoted_by_need([text]):
        yield from enumerate((line.split("\t") for line in text.removesuffix("\n").split("\n")), 1)
        return
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
    try:
        for fields in rows:
            yield rows.line_num, fields or [""]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {rows.line_num}: {error}; other fields of this file have quotes written "
            "twice, in quotes"
        ) from error


def require_header(path: Path, rows: Iterable[Sequence[str]], before: int = 0) -> None:
    """Raise InputError for a first row that lacks names which a row below it has.

    The row of names has a text, and no number, in each column, all different.
    """
    rows = [list(map(visible, row)) for row in rows]
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    if not rows or sum(map(bool, rows[0])) > width - 2:
        return
    for number, row in enumerate(rows[1:], start=before + 2):
        names = {name for name in row if any(map(str.isalpha, name))}
        if len(row) == width == len(names) > 1:
            raise InputError(
                f"{path}, line {before + 1} does not name the {width} columns, line {number} does; take out "
                "the lines above it"
            )


def header_fields(path: Path, line: str, separator: str, quoted: bool) -> list[str]:
    """Return the fields of a header's line; InputError for a quote that has no end."""
    if not quoted:
        return line.split(separator)
    try:
        return next(csv.reader(io.StringIO(line), delimiter=separator, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}, line 1: {error}; get the file again") from None


def _by_row(
    path: Path,
    rows: csv.Reader,
    first: list[str],
    places: dict[str, int],
    text: str,
    quoted: bool,
    before: int,
) -> pd.DataFrame:
    """Read a table row by row, with the line in errors."""
    lines, records, empty = [], [], 0
    pick, names = operator.itemgetter(*places.values(), 0), sorted(first)  # 0 ensures a tuple
    for row in rows:
        if not "".join(row).strip():
            empty += 1
            continue
        if len(row) != len(first):
            _uneven(path, rows.line_num, len(row), len(first), text, quoted, before)
        if row == first or sorted(row) == names:
            raise InputError(
                f"{path}, line {rows.line_num + before}: the header again; if files were put one after "
                "another, take it out"
            )
        lines.append(rows.line_num + before)
        records.append(pick(row))
    if not records:
        raise InputError(f"{path} has a header but no rows; get the file again")
    if empty:
        warn(path, f"{empty:,} empty lines left out")
    fields = dict(zip(places, zip(*records, strict=True), strict=False))
    return pd.DataFrame(fields, index=lines, dtype="str")


def content(path: Path) -> bytes:
    """Return a file's bytes, decompressed if gzipped."""
    return _apply_to_content(path, lambda file: file.read())


def header(path: Path) -> str:
    """Return a file's first line, decompressed if gzipped; invalid UTF-8 is replaced."""
    return _apply_to_content(path, lambda file: file.readline()).decode("utf-8", "replace")


def _apply_to_content(path: Path, take: Callable[[BinaryIO], bytes]) -> bytes:
    """Apply `take` to a file, decompressed if gzipped."""
    try:
        with open(path, "rb") as file:
            zipped = file.peek(2)[:2] == b"\x1f\x8b"
            with gzip.open(file) if zipped else file as plain:
                return take(plain)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path} is damaged ({error}); get the file again") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def only(files: Mapping[str, str | Path], what: str) -> Path:
    """Return the single file for `what`."""
    if len(files) != 1:
        named = ", ".join(files) or "none"
        raise InputError(f"{what}: one file is expected, the config names {named}")
    return Path(next(iter(files.values())))


def visible(text: str) -> str:
    """Remove zero-width characters, soft hyphens and surrounding spaces from a text.

    Accented letters become one character (NFC), so that equality and length of words do not depend on
    the file's encoding of accents.
    """
    shown = text.translate(_INVISIBLE).strip()
    return shown if shown.isascii() else unicodedata.normalize("NFC", shown)


def all_visible(column: pd.Series) -> pd.Series:
    """Apply `visible` to a column of text, once per distinct value."""
    return column.map({value: visible(value) for value in column.unique()})


def decode(path: Path, data: bytes, encoding: str) -> str:
    """Decode a file's text without a byte order mark; InputError, with the line, if invalid."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path} is UTF-16 text; save it as {encoding}")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: a zero byte; this is not a text file")
    try:
        return data.decode(encoding)
    except LookupError:
        raise InputError(
            f"{path}: no encoding is called {encoding!r}; utf-8, latin-1 … are"
        ) from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}, line {line}: byte {data[error.start]:#04x} is not {encoding}; "
            f"save the file as {encoding}, or get it again"
        ) from error


def _fields(line: str, separator: str) -> list[str]:
    return [visible(field).strip('"') for field in line.split(separator)]


def _places(
    path: Path,
    header: list[str],
    line: str,
    columns: list[str],
    optional: list[str],
    separator: str,
) -> dict[str, int]:
    """Return each column's position in the header."""
    counts = Counter(header)
    for name in columns + optional:
        if counts[name] > 1:
            raise InputError(
                f"{path}, line 1: the header has {name} {counts[name]} times; give each column a name of its own"
            )
    for name in columns:
        if name not in counts:
            for other, called in _SEPARATORS.items():
                if other != separator and name in _fields(line, other):
                    raise InputError(
                        f"{path}, line 1: columns are separated by {called}, expected "
                        f"{_SEPARATORS.get(separator, separator)}; save the file that way"
                    )
            header_text = ", ".join(header[:40])
            raise InputError(
                f"{path} has no column {name}; {hint(name, header)}It has: {header_text}"
            )
    return {name: header.index(name) for name in columns + optional if name in header}


def _uneven(
    path: Path, line: int, got: int, expected: int, text: str, quoted: bool, before: int
) -> NoReturn:
    cut = line >= text.count("\n") and got < expected
    way = (
        "the file looks cut off: get it again" if cut else "correct the line or get the file again"
    )
    if line == 2 and got == expected + 1:
        way = "a separator at the end of each line, or R's row names without a name? " + way
    what = "fields" if not quoted else "fields (quotes may be unbalanced)"
    raise InputError(
        f"{path}, line {line + before}: {got} {what}, the header has {expected}; {way}"
    )


def _parquet(path: Path, columns: list[str], optional: list[str]) -> Table:
    """Read a Parquet file; lines are numbers of rows, from 1."""
    parquet_bounds.require_room(path, str(path))
    try:
        frame = pd.read_parquet(path)
    except (ValueError, OSError, MemoryError, NotImplementedError) as error:  # PyArrow's too
        reason = " ".join(str(error).split())[:150]
        raise InputError(
            f"{path} is not a complete Parquet file ({reason}); get it again"
        ) from None
    header = [str(name) for name in frame.columns]
    places = _places(path, header, "", columns, optional, "")
    if frame.empty:
        raise InputError(f"{path} has no rows")
    frame = frame.set_axis(header, axis=1).set_axis(range(1, len(frame) + 1))[list(places)]
    return Table(path, as_text(path, frame))


def as_text(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return all values as text, missing ones as "", bytes decoded as UTF-8.

    Raises InputError, with the row, for bytes that are not UTF-8.
    """

    def one(value: object) -> str:
        if isinstance(value, bytes):
            return value.decode("utf-8").strip()
        is_missing = pd.isna(value)
        return "" if isinstance(is_missing, bool) and is_missing else str(value).strip()

    columns, needed, room = {}, 0, min(parquet_bounds.available(), parquet_bounds.ASSUMED) / 2
    for name in frame:
        try:
            codes, unique = [*range(len(frame))], frame[name]
            if frame[name].dtype != object:  # one type: equal values have equal text
                codes, unique = pd.factorize(frame[name], use_na_sentinel=False)
            text = np.array(
                [one(value) for value in pd.Series(unique).astype(object)], dtype=object
            )
            sizes = np.array([len(part) for part in text], dtype=np.int64)
            needed += int(sizes[codes].sum()) if len(text) else 0
            parquet_bounds.require(needed, room, str(path))
            columns[name] = text[codes] if len(text) else text
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: {name} holds bytes that are not UTF-8 ({error.object[:20]!r}); write text"
            ) from None
    return pd.DataFrame(columns, index=frame.index, dtype="str")
