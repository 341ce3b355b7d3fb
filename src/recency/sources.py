"""Lists of source files of corpora and minimal pairs (data/sources/*.tsv)."""

import csv
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from readingtimes.downloads.addresses import leads_out
from readingtimes.names import nearest
from recency.errors import REFUSALS, InputError

# Columns for all files, and further ones for training text.
FILE = ["url", "sha256", "bytes", "licence"]
COLUMNS = [*FILE, "part", "reader"]


@dataclass(frozen=True)
class Source:
    """A source file, one row of a list; `part` and `reader` are empty except for text."""

    url: str
    sha256: str | None
    bytes: int | None
    licence: str
    part: str = ""
    reader: str = ""

    def file(self) -> dict[str, str | int]:
        """Return `url`, and `sha256` and `bytes` if known, for the download."""
        entry = {"url": self.url, "sha256": self.sha256, "bytes": self.bytes}
        return {key: value for key, value in entry.items() if value is not None}


def resolve(path: str, root: Path) -> Path:
    """Return the path of a list: in the folder of the run, or in the project's folder."""
    return Path(path) if os.path.isfile(path) else root / path


def read(path: str | Path, exclude: Iterable[str] = ()) -> list[Source]:
    """Read a tab-separated list of sources, without the parts in `exclude`.

    Its columns are `FILE`, or `COLUMNS` for text. Raises InputError for an unreadable list, another
    header, an empty url, part or reader, a url with `..`, a size that is not a number, and an unknown
    excluded part.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    except OSError as error:
        raise InputError(f"{str(path)[-100:]} cannot be read: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or an invalid file name
        raise InputError(f"{path} cannot be read: it is not a UTF-8 table") from error
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
        try:
            out = leads_out(row["url"])
        except REFUSALS as error:
            raise InputError(f"{path}, line {line}: {error}") from None
        if out:
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
