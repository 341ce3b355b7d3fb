"""Atomic writing: a file is there complete, or as it was before."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recency.errors import InputError


@contextmanager
def atomic(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path beside `path` that is renamed onto it on success, removed on failure.

    A full disk is an InputError, and leaves what was at `path` before.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The ending is kept, since many writers choose the format by it.
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


def full_disk(error: BaseException | None) -> bool:
    """Say whether `error`, or what led to it, is a disk without room or a used-up quota."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


def no_room(path: Path) -> InputError:
    """Make the error of a file that a full disk kept from being written."""
    free = shutil.disk_usage(path.parent).free / 1e6
    before = "what was there before is untouched; " if path.exists() else ""
    return InputError(
        f"{path} was not written: the disk is full, or a quota used up ({free:,.0f} MB are free in "
        f"{path.parent} now); {before}make room there and give the same command again, which goes "
        "on from what is complete"
    )


def sha256(path: str | os.PathLike) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
