"""Damaged files: JSON, Parquet and CSV files that are empty or were cut."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

#: What a Parquet file begins and ends with.
MAGIC = b"PAR1"
_EMPTY = "is empty"
_CUT = "is damaged or was cut"


def damage(path: str | Path) -> str:
    """Say how a JSON, Parquet or CSV file is damaged.

    Parameters
    ----------
    path : str or Path
        The file; its ending says what it is.

    Returns
    -------
    str
        "" for a file that is whole, is of another kind or cannot be opened.
    """
    path = Path(path)
    check = {".json": _json, ".parquet": _parquet, ".csv": _csv}.get(path.suffix)
    try:
        if check is None or not path.is_file():
            return ""
        return _EMPTY if path.stat().st_size == 0 else check(path)
    except OSError:
        return ""


def first_damaged(paths: Iterable[str | Path]) -> str:
    """Name the first damaged file and what is wrong with it; "" if all are whole."""
    return next((f"{path} {wrong}" for path in paths if (wrong := damage(path))), "")


def of_job() -> str:
    """Name the first damaged input of the Snakemake job that this process runs; "" if there is none."""
    job = getattr(sys.modules.get("__main__"), "snakemake", None)
    named = first_damaged(map(str, getattr(job, "input", ())))
    return named and f"{named}; delete it, and the same command makes or fetches it again"


def _json(path: Path) -> str:
    try:
        json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        return f"{_CUT}: {error}"
    return ""


def _parquet(path: Path) -> str:
    with path.open("rb") as file:
        first = file.read(len(MAGIC))
        size = file.seek(0, 2)
        file.seek(max(size - 2 * len(MAGIC), 0))
        length, last = int.from_bytes(file.read(len(MAGIC)), "little"), file.read()
    if first == last == MAGIC and length + 3 * len(MAGIC) <= size:
        return ""
    return f"{_CUT}: it does not end as a Parquet file does"


def _csv(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return "" if file.read() == b"\n" else f"{_CUT}: its last line has no end"
