"""Detection of damaged files: JSON, Parquet and CSV files that are empty or truncated."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

#: First and last bytes of a Parquet file.
MAGIC = b"PAR1"
_EMPTY = "is empty"
_CUT = "is damaged or truncated"


def damage(path: str | Path) -> str:
    """Describe the damage of a JSON, Parquet or CSV file.

    Parameters
    ----------
    path : str or Path
        The file; its extension determines the format.

    Returns
    -------
    str
        "" for a complete file, another format, or a file that cannot be opened.
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
    """Return the first damaged file with its damage, "" if all are complete."""
    return next((f"{path} {wrong}" for path in paths if (wrong := damage(path))), "")


def of_job() -> str:
    """Return the first damaged input of this process's Snakemake job, "" if there is none."""
    job = getattr(sys.modules.get("__main__"), "snakemake", None)
    named = first_damaged(map(str, getattr(job, "input", ())))
    return named and f"{named}; delete it, and the same command makes or downloads it again"


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
    return f"{_CUT}: it lacks the end of a Parquet file"


def _csv(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return "" if file.read() == b"\n" else f"{_CUT}: its last line is incomplete"
