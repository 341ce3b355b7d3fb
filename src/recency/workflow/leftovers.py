"""What earlier runs left that stands in a run's way, put right as it begins.

Killed jobs leave hidden files with their process's number, half written: `recency.files.atomic` writes `a.parquet` as `.a.<process>.parquet` and renames it. A job that is killed
can't remove it, and one that runs again has another number.
"""

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

NAME = re.compile(r"\..+\.(\d+)(\.\w+)?")
#: Seconds after which a file that no other machine's job has written to is none that it writes.
QUIET = 24 * 3600.0
#: Seconds by which the clocks of machines that share a disk may differ.
SKEW = 60.0


def sweep(folders: Iterable[str | Path], here: bool) -> list[Path]:
    """Remove what killed jobs left below `folders`, and return it.

    `here` says that jobs run on this machine alone, where the number tells whether one is at work;
    elsewhere a file has to have been left alone for a day.
    """
    gone = []
    for path in _found(folders):
        try:
            left = _ended(path) if here else time.time() - path.lstat().st_mtime > QUIET
            if left:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                gone.append(path)
        except OSError:  # a folder that may not be written to: a job says so if it has to
            continue
    return gone


def date_now(folders: Iterable[str | Path]) -> int:
    """Date files that are of the future, since the clock was set back, and return how many there were.

    Snakemake would take what is made of them for older than they are, and stop.
    """
    now, found = time.time(), 0
    for folder in folders:
        for where, _, files in os.walk(folder):
            for name in files:
                path = Path(where, name)
                try:
                    if path.lstat().st_mtime > now + SKEW:
                        os.utime(path, (now, now), follow_symlinks=False)
                        found += 1
                except OSError:  # gone, or not this account's
                    continue
    return found


def _found(folders: Iterable[str | Path]) -> Iterator[Path]:
    """Yield the files and folders that are named as parts of a file are."""
    for folder in folders:
        for where, inner, files in os.walk(folder):
            for name in [*inner, *files]:
                if NAME.fullmatch(name):
                    yield Path(where, name)
            inner[:] = [name for name in inner if not NAME.fullmatch(name)]


def _ended(path: Path) -> bool:
    """Say whether the process that a part is named after is no more."""
    try:
        os.kill(int(NAME.fullmatch(path.name)[1]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False
