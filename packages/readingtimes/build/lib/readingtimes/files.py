"""Atomic writing: a file is either complete or unchanged."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from readingtimes.errors import InputError


@contextmanager
def atomic(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path next to `path` that is renamed to it on success and removed on failure.

    A full disk raises InputError and leaves `path` unchanged.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The extension is kept, because many writers choose the format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except Exception as error:
        if not full_disk(error):
            raise
        temporary.unlink(missing_ok=True)
        raise no_room(path) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_parquet(frame: Any, path: str | os.PathLike) -> None:
    """Write a pandas table as Parquet, atomically and without its index; equal tables have equal bytes."""
    with atomic(path) as part:
        frame.to_parquet(part, compression="zstd", index=False)


def full_disk(error: BaseException | None) -> bool:
    """Return whether `error` or its cause is a full disk or an exceeded quota."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


def no_room(path: Path) -> InputError:
    """Return the error for a file that could not be written to a full disk."""
    free = shutil.disk_usage(path.parent).free / 1e6
    before = "its previous content is unchanged; " if path.exists() else ""
    return InputError(
        f"{path} was not written: the disk is full, or a quota exceeded ({free:,.0f} MB are free in "
        f"{path.parent} now); {before}free some space and repeat the command, which continues "
        "from the completed jobs"
    )


def sha256(path: str | os.PathLike) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
