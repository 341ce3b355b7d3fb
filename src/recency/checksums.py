"""Checksums of contract files, by which jobs refuse inputs that were edited by hand.

The Parquet footer of words, responses, observations and surprisal has the SHA-256 of pages and schema,
written by `recency.contract_files`. If the checksum differs or is missing, values may be in the wrong
rows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from recency.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

#: The checksum's key in the footer.
KEY = b"recency.sha256"
#: Keys of the footer that are not content; pyarrow writes the second.
_APART = (KEY, b"ARROW:schema")
#: End of a Parquet file, after the footer and its length (little-endian).
_MARK = b"PAR1"
#: Contract files below the folder of results.
_CONTRACT = re.compile(
    r"(?P<results>(?:.*/)?)(?:datasets/[^/]+/(?:words|responses\.[^/]+)"
    r"|observations/[^/]+/(?:fit|exploratory|held_out)|surprisal/[^/]+/[^/]+)\.parquet"
)


def problem(path: str | Path) -> str:
    """Describe the fault of a contract file's checksum.

    Parameters
    ----------
    path : path
        A Parquet file.

    Returns
    -------
    str
        "" for unchanged content, and for a file that is not Parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(path)
    try:
        footer = pq.read_metadata(path)
    except (pa.ArrowException, OSError):
        return ""
    schema = footer.schema.to_arrow_schema().with_metadata(footer.metadata)
    stored = (footer.metadata or {}).get(KEY)
    if stored is None:
        return "it has no checksum of the workflow (edited by hand, or of an older version?)"
    digest = with_schema(_pages(path), schema)
    if stored.decode(errors="replace") != digest:
        return "its content is not what the workflow wrote (edited by hand?)"
    return ""


def require_unedited(inputs: Iterable[str | Path], outputs: Iterable[str | Path]) -> None:
    """Raise InputError for the first contract file whose content the workflow did not write.

    Parameters
    ----------
    inputs, outputs : iterable of path
        Those of a job. An input is a contract file if it has the path of one and an output is below
        the same folder, which excludes the user's files.
    """
    outputs = [str(path) for path in outputs]
    for path in dict.fromkeys(map(str, inputs)):
        match = _CONTRACT.fullmatch(path)
        if match is None or not any(output.startswith(match["results"]) for output in outputs):
            continue
        if wrong := problem(path):
            raise InputError(
                f"{path}: {wrong}; delete it, and the same command makes it again if needed"
            )


def _pages(path: Path) -> hashlib._Hash:
    """Return the hash of a Parquet file up to its footer."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        size = file.seek(-2 * len(_MARK), 2)
        left = size - int.from_bytes(file.read(len(_MARK)), "little")
        file.seek(0)
        while left > 0 and (block := file.read(min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
    return digest


def with_schema(pages: hashlib._Hash, schema: pa.Schema) -> str:
    """Return the checksum of pages and the columns' names, types and attributes."""
    digest = pages.copy()
    columns = [[field.name, str(field.type)] for field in schema]
    digest.update(json.dumps(columns).encode())
    for key, value in sorted((schema.metadata or {}).items()):
        digest.update(b"" if key in _APART else key + b"=" + value)
    return digest.hexdigest()
