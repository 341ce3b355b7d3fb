"""Files of the command line: text and tables in, tables out, `-` for standard input and output."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from recency.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

STANDARD = "-"
SEPARATORS = {".csv": ",", ".tsv": "\t"}
#: What stands for a missing value in CSV and TSV; "None" and "null" may be levels of a factor.
MISSING = ["", "NA", "NaN", "nan", "."]


def content(name: str) -> bytes:
    """Return the bytes of a file or, for `-`, of standard input."""
    if name != STANDARD:
        return Path(name).read_bytes()
    if sys.stdin.isatty():
        print("reading standard input; end it with Ctrl-D", file=sys.stderr)
    return sys.stdin.buffer.read()


def text(name: str) -> str:
    """Return a file of text; InputError, with the line, where it is not UTF-8."""
    data = content(name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{shown(name)}, line {line}: byte {data[error.start]:#04x} is not UTF-8; save it as UTF-8"
        ) from None


def shown(name: str) -> str:
    """Return how an error calls a file."""
    return "standard input" if name == STANDARD else name


def read(name: str) -> pd.DataFrame:
    """Read a table by its name's ending; standard input is Parquet, TSV or CSV by what it holds."""
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
            return pd.read_parquet(io.BytesIO(data))
        return pd.read_csv(
            io.BytesIO(data),
            sep=SEPARATORS[ending],
            encoding="utf-8-sig",
            keep_default_na=False,
            na_values=MISSING,
            low_memory=False,
        )
    except (ValueError, OSError) as error:  # pandas', PyArrow's and the decoder's are of these
        reason = " ".join(str(error).split())
        raise InputError(f"{shown(name)} cannot be read as {ending[1:]}: {reason}") from None


def check_ending(name: str) -> None:
    """Raise InputError for a file that is no table by its ending; `-` is one."""
    if name != STANDARD and Path(name).suffix.lower() not in (*SEPARATORS, ".parquet"):
        raise InputError(f"{name} ends in none of .csv, .tsv and .parquet")


def write(table: pd.DataFrame, name: str) -> None:
    """Write a table without its index by the name's ending; to standard output as CSV."""
    from recency.files import atomic

    if name == STANDARD:
        table.to_csv(sys.stdout, index=False, lineterminator="\n")
        return
    ending = Path(name).suffix.lower()
    with atomic(name) as part:
        if ending == ".parquet":
            table.to_parquet(part, index=False)
        else:
            table.to_csv(part, sep=SEPARATORS[ending], index=False, lineterminator="\n")
