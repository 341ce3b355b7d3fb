"""Readers of training text: one module per kind of source file, chosen by its name.

A reader module has `read(paths, **options)`, which takes all files of a part of the corpus and
yields (name, text) for each document in order; names are unique within the part.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recency import plugins
from recency.errors import InputError
from recency.names import nearest

Reader = Callable[..., Iterator[tuple[str, str]]]
COLUMNS = ["url", "sha256", "bytes", "licence", "part", "reader"]


@dataclass(frozen=True)
class Source:
    """One original file of a corpus, as a row of data/sources/*.tsv names it."""

    url: str
    sha256: str | None
    bytes: int | None
    licence: str
    part: str
    reader: str


def read_sources(path: str | Path, exclude: Iterable[str] = ()) -> list[Source]:
    """Read a table of sources (tab-separated, `COLUMNS`), without the parts in `exclude`."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows or list(rows[0]) != COLUMNS:
        raise InputError(f"{path}: the columns must be {', '.join(COLUMNS)}, with a row per file")
    sources = []
    for line, row in enumerate(rows, start=2):
        for column in ("url", "part", "reader"):
            if not row[column]:
                raise InputError(f"{path}, line {line}: {column} is empty")
        if row["bytes"] and not row["bytes"].isdigit():
            raise InputError(f"{path}, line {line}: bytes is {row['bytes']!r}, not a whole number")
        size = int(row["bytes"]) if row["bytes"] else None
        sources.append(Source(**{**row, "sha256": row["sha256"] or None, "bytes": size}))
    parts = {source.part for source in sources}
    exclude = set(exclude)
    for part in sorted(exclude - parts):
        raise InputError(f"{path} has no part to exclude called {nearest(part, sorted(parts))}")
    return [source for source in sources if source.part not in exclude]


def readers() -> list[str]:
    """Name the readers there are."""
    return plugins.names("recency.text.readers", "read")


def reader(name: str) -> Reader:
    """Give the `read` function of a reader."""
    return plugins.load("recency.text.readers", name, "reader of text", "read").read


def decoded(data: bytes, name: str | Path) -> str:
    """Decode UTF-8 without byte-order mark, line ends as LF; an error gives the wrong byte."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}; "
            "convert it, for instance with `iconv -f latin1 -t utf-8`"
        ) from error
    return text.replace("\r\n", "\n")
