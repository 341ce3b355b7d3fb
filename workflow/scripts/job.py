"""What every script does around its work: log, errors that a person can act on, progress, whole files."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class InputError(ValueError):
    """The user's input is at fault: the message names file, row or key, value and the way out."""


@contextmanager
def logged(log: str | os.PathLike) -> Iterator[None]:
    """Send stderr and tracebacks to the rule's log; of an InputError, the message alone."""
    terminal = sys.stderr
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", buffering=1) as sys.stderr:
        try:
            yield
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            print(f"\nerror: {error}\n", file=terminal, flush=True)
            raise SystemExit(1) from None
        except Exception:  # noqa: BLE001, whatever it is belongs into the log
            traceback.print_exc()  # into the log, whose end Snakemake shows
            raise SystemExit(1) from None
        finally:
            sys.stderr = terminal


@contextmanager
def whole(path: str | os.PathLike) -> Iterator[Path]:
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
        "on from what is whole"
    )


class progress:
    """Say on the terminal how far a long job is, at most every `every` seconds."""

    def __init__(self, total: float, what: str, unit: str = "", every: float = 10.0):
        self.total, self.what, self.unit, self.every = total, what, unit, every
        self.started = self.last = time.monotonic()
        self.first: float | None = None

    def update(self, done: float, note: str = "") -> None:
        """Report `done` of `total`; the rate counts from the first call (after a resume, too)."""
        now = time.monotonic()
        if self.first is None:
            self.first = done
        if now - self.last < self.every:
            return
        self.last = now
        rate = (done - self.first) / (now - self.started)
        left = f", {_clock((self.total - done) / rate)} left" if rate > 0 else ""
        note = f", {note}" if note else ""
        line = f"{self.what}: {done / self.total:4.0%}, {rate:,.0f} {self.unit}/s{left}{note}"
        print(line, flush=True)
        print(line, file=sys.stderr)


def _clock(seconds: float) -> str:
    """Write a duration as m:ss or h:mm:ss."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
