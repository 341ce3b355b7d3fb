"""Read and write the files of the command line; `-` is standard input or output."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from readingtimes import parquet_bounds
from recency.errors import REFUSALS, InputError

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
    """Read a table by its extension; for standard input, detect Parquet, TSV or CSV."""
    import pandas as pd

    ending = Path(name).suffix.lower()
    if name != STANDARD:
        check_ending(name)
    data = content(name)
    if not data.strip():
        raise InputError(f"{shown(name)} is empty")
    if name == STANDARD:
        first = data.partition(b"\n")[0]
        tabs = ".tsv" if b"\t" in first else ".csv"
        ending = ".parquet" if data[:4] == b"PAR1" else tabs
    try:
        if ending == ".parquet":
            parquet_bounds.require_room(data, shown(name))
            return pd.read_parquet(io.BytesIO(data))
        return pd.read_csv(
            io.BytesIO(data),
            sep=SEPARATORS[ending],
            encoding="utf-8-sig",
            keep_default_na=False,
            na_values=MISSING,
            low_memory=False,
        )
    except REFUSALS:
        raise
    except (ValueError, OSError, MemoryError, NotImplementedError) as error:  # of all libraries
        reason = " ".join(str(error).split())
        raise InputError(f"{shown(name)} cannot be read as {ending[1:]}: {reason}") from None


def check_ending(name: str) -> None:
    """Raise InputError for a file without the extension of a table, other than `-`."""
    if name != STANDARD and Path(name).suffix.lower() not in (*SEPARATORS, ".parquet"):
        raise InputError(f"{name} must end in .csv, .tsv or .parquet")


def write(table: pd.DataFrame, name: str) -> None:
    """Write a table without its index in the format of its extension; to standard output as CSV."""
    from readingtimes.files import atomic

    if name == STANDARD:
        table.to_csv(sys.stdout, index=False, lineterminator="\n")
        return
    ending = Path(name).suffix.lower()
    with atomic(name) as part:
        if ending == ".parquet":
            table.to_parquet(part, index=False)
        else:
            table.to_csv(part, sep=SEPARATORS[ending], index=False, lineterminator="\n")
