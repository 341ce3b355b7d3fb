"""Tables of the files that a corpus of text, or minimal pairs, are made from (data/sources/*.tsv)."""

import csv
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from recency.errors import InputError
from recency.names import nearest

# What is known of any file, and what text to train on needs beside.
FILE = ["url", "sha256", "bytes", "licence"]
COLUMNS = [*FILE, "part", "reader"]


def leads_out(path: str) -> bool:
    """Say whether a relative path or a URL's leads out of the folder that it is kept in.

    A URL's path is read as it is written and unquoted: `%2e%2e` is `..` to whoever unquotes it.
    """
    written = urlsplit(path).path.lstrip("/") if "://" in path else path
    return any(
        each.startswith("/") or "\\" in each or "\0" in each or ".." in each.split("/")
        for each in (written, unquote(written))
    )


@dataclass(frozen=True)
class Source:
    """One original file, a row of a table; `part` and `reader` are empty of what is not text."""

    url: str
    sha256: str | None
    bytes: int | None
    licence: str
    part: str = ""
    reader: str = ""

    def file(self) -> dict[str, str | int]:
        """Return what downloading takes: `url`, and `sha256` and `bytes` where they are known."""
        known = {"url": self.url, "sha256": self.sha256, "bytes": self.bytes}
        return {key: value for key, value in known.items() if value is not None}


def place(path: str, root: Path) -> Path:
    """Return where a table is that a config names: where the run is, or in the project's folder."""
    return Path(path) if os.path.isfile(path) else root / path


def read(path: str | Path, exclude: Iterable[str] = ()) -> list[Source]:
    """Read a table of sources, tab-separated, without the parts in `exclude`.

    Its columns are `FILE`, or `COLUMNS` if it is of text. Raises InputError for no table, another header, an
    empty url, part or reader, a url with `..`, a size that is no number, and an excluded part that
    there is not.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    except OSError as error:
        raise InputError(f"{str(path)[-100:]} cannot be read: {error.strerror}") from error
    except ValueError as error:  # other bytes, or a name that no file can have
        raise InputError(f"{path} cannot be read: it is no table in UTF-8") from error
    if not rows or list(rows[0]) not in (FILE, COLUMNS):
        raise InputError(
            f"{path}: the columns must be {', '.join(FILE)}, and of text part and reader, with a "
            "row per file"
        )
    sources = []
    for line, row in enumerate(rows, start=2):
        for column in ("url", "part", "reader"):
            if column in row and not row[column]:
                raise InputError(f"{path}, line {line}: {column} is empty")
        if leads_out(row["url"]):
            raise InputError(f"{path}, line {line}: {row['url']} leads out of its folder (`..`)")
        if row["bytes"] and not row["bytes"].isdigit():
            raise InputError(f"{path}, line {line}: bytes is {row['bytes']!r}, not a whole number")
        size = int(row["bytes"]) if row["bytes"] else None
        sources.append(Source(**{**row, "sha256": row["sha256"] or None, "bytes": size}))
    parts = {source.part for source in sources if source.part}
    exclude = set(exclude)
    for part in sorted(exclude - parts):
        raise InputError(f"{path} has no part to exclude called {nearest(part, sorted(parts))}")
    return [source for source in sources if source.part not in exclude]
