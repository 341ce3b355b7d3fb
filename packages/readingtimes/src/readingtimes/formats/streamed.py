"""Read selected columns and rows of large delimited text, block by block.

Tables in a zip archive: one member, or many with the same columns, such as one per reader or text.

A pattern matches the end of members' paths: `*` is any part of a name, and `{name}` a part that becomes
the column `name` of the member's rows
(`{text}/lett{subject}/reading_measures.csv`).
"""

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from readingtimes.errors import InputError
from readingtimes.joins.index import plain_label
from readingtimes.names import hint
from readingtimes.strict_tables import Table, header_fields, quoted_by_need, visible, warn

#: Minimum bytes of a table that is read block by block.
LARGE = 128 << 20
_BLOCK = 16 << 20
_LOOKED_AT = 1 << 16
_ROW = re.compile(r"Row #(\d+): (.*)", re.DOTALL)
_SEPARATORS = "\t;,| ~^"


class _Tail:
    """A binary stream that remembers its last byte."""

    def __init__(self, stream: BinaryIO):
        self.stream, self.last = stream, b"\n"

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes."""
        data = self.stream.read(size)
        self.last = bytes(data[-1:]) or self.last
        return data

    def close(self) -> None:
        """Close the stream."""
        self.stream.close()

    @property
    def closed(self) -> bool:
        """Whether the stream is closed."""
        return self.stream.closed


def opened(path: Path) -> BinaryIO:
    """Open a file as a binary stream, decompressed if gzipped."""
    try:
        stream = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    return gzip.open(stream) if stream.peek(2)[:2] == b"\x1f\x8b" else stream


def header_of(
    path: Path, open_: Callable[[], BinaryIO], separator: str | None, encoding: str
) -> tuple[list[str], str, bool]:
    """Return column names, separator, and whether fields may be quoted."""
    try:
        with open_() as stream:
            begin = stream.read(_LOOKED_AT)
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"{path} is damaged ({error}); get the file again") from None
    if begin[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path} is UTF-16 text; save it as {encoding}")
    begin = begin.removeprefix(b"\xef\xbb\xbf")
    try:
        text = begin.decode(encoding, "replace")
    except LookupError:
        raise InputError(
            f"{path}: no encoding is called {encoding!r}; utf-8, latin-1 … are"
        ) from None
    if not text.strip():
        raise InputError(f"{path} is empty; get the file again")
    first = text.splitlines()[0]
    if separator is None:
        separator = max(_SEPARATORS, key=lambda item: (first.count(item), item == "\t"))
    quoted = separator != "\t" or quoted_by_need(_whole_lines(open_))
    names = [visible(name) for name in header_fields(path, first, separator, quoted)]
    return [n or f"unnamed_{i}" for i, n in enumerate(names, start=1)], separator, quoted


def _whole_lines(open_: Callable[[], BinaryIO]) -> Iterator[str]:
    """Yield a table in blocks of whole lines, to look for quotes, which are the same byte in all encodings."""
    with open_() as stream:
        while block := stream.read(_BLOCK):
            yield (block + stream.readline()).decode("latin-1")


def read(
    path: Path,
    open_: Callable[[], BinaryIO],
    separator: str | None,
    encoding: str,
    choose: Callable[[list[str]], Iterable[str]],
    rows: Mapping[str, Sequence[str]],
) -> Table:
    """Read the selected columns of a large table as text, with only the rows that `rows` keeps.

    Parameters
    ----------
    path : Path
        What errors call the table.
    open_ : callable
        Opens it as a binary stream.
    separator : str or None
        None: the most frequent one of the header.
    encoding : str
        That of the text.
    choose : callable
        Picks columns of their names.
    rows : mapping of str to sequence of str
        Column → the values of the rows to keep.
    """
    header, separator, quoted = header_of(path, open_, separator, encoding)
    chosen = once(path, header, choose(header))
    types = dict.fromkeys([*chosen, *rows], pa.large_string())
    batches, lines = [], []
    for batch, line in blocks(path, open_, header, separator, quoted, encoding, types):
        keep = np.ones(batch.num_rows, dtype=bool)
        for name, values in rows.items():
            labels = batch[name].dictionary_encode()
            wanted = {plain_label(value) for value in values}
            kept = np.array(
                [plain_label(label) in wanted for label in labels.dictionary.to_pylist()]
            )
            keep &= kept[labels.indices.to_numpy(zero_copy_only=False)]
        lines.append(line + np.flatnonzero(keep))
        batches.append(batch.select(chosen).filter(pa.array(keep)))
    table = pa.Table.from_batches(batches)
    dtype = pd.StringDtype("pyarrow", na_value=np.nan)
    frame = table.to_pandas(types_mapper=lambda _: dtype).set_axis(np.concatenate(lines))
    return Table(path, frame.apply(lambda column: column.str.strip()))


def once(path: Path, header: list[str], chosen: Iterable[str]) -> list[str]:
    """Return the distinct selected columns; InputError if the header repeats one."""
    chosen = list(dict.fromkeys(chosen))
    for name in chosen:
        if header.count(name) > 1:
            raise InputError(f"{path}, line 1: the header has {name} {header.count(name)} times")
    return chosen


def blocks(
    path: Path,
    open_: Callable[[], BinaryIO],
    header: list[str],
    separator: str,
    quoted: bool,
    encoding: str,
    types: Mapping[str, pa.DataType],
    missing: Sequence[str] | None = None,
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield the columns of `types` by block, each with the line of its first row.

    `missing` are spellings of null, of numbers; None: there are none. Raises InputError at a row with
    more or fewer fields than the header, and at a value that is not of its type.
    """
    line = 2
    try:
        with open_() as stream:
            tail = _Tail(stream)
            reader = arrow_csv.open_csv(
                pa.PythonFile(tail, mode="r"),
                arrow_csv.ReadOptions(
                    column_names=header,
                    skip_rows=1,
                    block_size=_BLOCK,
                    use_threads=False,
                    encoding=encoding,
                ),
                arrow_csv.ParseOptions(delimiter=separator, quote_char='"' if quoted else False),
                arrow_csv.ConvertOptions(
                    column_types=dict(types),
                    include_columns=list(types),
                    strings_can_be_null=False,
                    null_values=list(missing or ()),
                ),
            )
            for batch in reader:
                yield batch, line
                line += batch.num_rows
        if tail.last not in (b"\n", b"\r"):
            warn(path, f"line {line - 1} has no end of line; if the file was cut off, get it again")
    except (pa.ArrowInvalid, pa.ArrowKeyError, EOFError, OSError, UnicodeError) as error:
        reason = " ".join(str(error).split())[:200]
        match = _ROW.search(reason)
        where = f"line {match[1]}" if match else f"after line {line}"
        reason = match[2] if match else reason
        way = "correct the line or get the file again"
        if "UTF8" in reason or isinstance(error, UnicodeError):
            reason = f"a byte is not {encoding}"
            way = f"save the file as {encoding}, or state its encoding in the options"
        raise InputError(f"{path}, {where}: {reason}; {way}") from None


_PART = re.compile(r"(\*|\{[A-Za-z]\w*\})")
_SHOWN = 5
#: Members that macOS adds to its archives.
_HIDDEN = ("__MACOSX/", "/._")


@dataclass(frozen=True)
class Member:
    """A table in an archive: name, size in bytes, and labels in its name."""

    archive: Path
    name: str
    size: int
    labels: dict[str, str]

    @property
    def path(self) -> Path:
        """Name of the member in errors."""
        return Path(f"{self.archive}/{self.name}")

    def open(self) -> io.BufferedIOBase:
        """Open the member as a binary stream."""
        return zipfile.ZipFile(self.archive).open(self.name)

    def content(self) -> bytes:
        """Return the member's bytes; InputError if they are damaged."""
        try:
            with self.open() as stream:
                return stream.read()
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise InputError(f"{self.path} is damaged ({error}); get the archive again") from error


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip archive."""
    return path.is_file() and zipfile.is_zipfile(path)


def members(path: Path, pattern: str) -> list[Member]:
    """List the members of a zip archive that match a pattern, sorted by name.

    Parameters
    ----------
    path : Path
        A zip archive.
    pattern : str
        The end of the members' paths, with `*` and `{name}`.

    Raises
    ------
    InputError
        If no member has such a name, or two have the same labels.
    """
    expression = compiled(pattern)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{path} is no whole zip archive ({error}); get it again") from error
    entries = [
        entry for entry in entries if not any(part in f"/{entry.filename}" for part in _HIDDEN)
    ]
    matches = [(entry, expression.fullmatch(entry.filename)) for entry in entries]
    paths = [
        Member(path, entry.filename, entry.file_size, match.groupdict())
        for entry, match in matches
        if match is not None
    ]
    if not paths:
        names = [entry.filename for entry in entries]
        listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        raise InputError(
            f"{path} has no member {pattern} (options → members); {hint(pattern, names)}"
            f"It has: {listed or 'none'}"
        )
    return sorted(_distinct(paths, pattern), key=lambda entry: _natural(entry.name))


def compiled(pattern: str) -> re.Pattern:
    """Convert a pattern of members to a regular expression."""
    parts = [
        "[^/]*" if part == "*" else f"(?P<{part[1:-1]}>[^/]+?)" if index % 2 else re.escape(part)
        for index, part in enumerate(_PART.split(pattern))
    ]
    try:
        return re.compile(r"(?:.*/)?" + "".join(parts))
    except re.error as error:
        raise InputError(f"options → members: {pattern!r} cannot be read ({error})") from None


def _distinct(members: list[Member], pattern: str) -> Iterator[Member]:
    """Yield members; InputError if two have the same labels."""
    seen: dict[tuple, str] = {}
    for member in members:
        key = tuple(member.labels.values()) or (member.name,)
        other = seen.setdefault(key, member.name)
        if other != member.name:
            raise InputError(
                f"{member.archive} has two members {pattern}: {other} and {member.name}; state more "
                "of the path in options → members"
            )
        yield member


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by their size."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if index % 2 else (-1, part) for index, part in enumerate(parts)]
