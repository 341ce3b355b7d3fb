"""Clean up after killed runs when a run begins.

`recency.files.atomic` writes `a.parquet` as `.a.<process>.parquet` and renames it. A killed job leaves
this partial file, and its next attempt uses another process number.
"""

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

NAME = re.compile(r"\..+\.(\d+)(\.\w+)?")
#: Seconds without a change after which a partial file of another machine is stale.
QUIET = 24 * 3600.0
#: Tolerated difference between clocks of machines that share a disk, seconds.
SKEW = 60.0


def sweep(folders: Iterable[str | Path], here: bool) -> list[Path]:
    """Remove partial files of killed jobs below `folders`, and return their paths.

    `here`: jobs run on this machine only, where the process number shows whether one is running;
    otherwise a file must be unchanged for a day.
    """
    gone = []
    for path in _found(folders):
        try:
            left = _ended(path) if here else time.time() - path.lstat().st_mtime > QUIET
            if left:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                gone.append(path)
        except OSError:  # no write permission; jobs that need it fail
            continue
    return gone


def date_now(folders: Iterable[str | Path]) -> int:
    """Set future modification times (after a change of the clock) to now; return the number of files.

    Otherwise Snakemake would treat outputs as older than their inputs, and stop.
    """
    now, count = time.time(), 0
    for folder in folders:
        for where, _, files in os.walk(folder):
            for name in files:
                path = Path(where, name)
                try:
                    if path.lstat().st_mtime > now + SKEW:
                        os.utime(path, (now, now), follow_symlinks=False)
                        count += 1
                except OSError:  # removed, or another account's
                    continue
    return count


def _found(folders: Iterable[str | Path]) -> Iterator[Path]:
    """Yield files and folders with names of partial files."""
    for folder in folders:
        for where, inner, files in os.walk(folder):
            for name in [*inner, *files]:
                if NAME.fullmatch(name):
                    yield Path(where, name)
            inner[:] = [name for name in inner if not NAME.fullmatch(name)]


def _ended(path: Path) -> bool:
    """Return whether the process in a partial file's name has ended."""
    try:
        os.kill(int(NAME.fullmatch(path.name)[1]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False
