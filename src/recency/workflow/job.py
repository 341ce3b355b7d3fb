"""The surroundings of a rule's script: memory, the log, and errors that a person can act on."""

import errno
import gc
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recency import checksums, damage, heap
from recency.errors import InputError

#: What a system refuses a job, and the way out; what is complete stays, and the same command goes on.
REFUSED = {
    errno.ENOSPC: "the disk is full; make room there",
    errno.EDQUOT: "a quota of disk is used up; make room there",
    errno.EFBIG: "a file may not grow so large here; raise the limit (ulimit -f)",
    errno.EROFS: "its disk can only be read; mount it for writing",
    errno.EACCES: "this account may not; give it the right",
    errno.EPERM: "this account may not; give it the right",
    errno.EIO: "the disk failed; look at the system's messages (dmesg)",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.ENOMEM: "no memory was left; use fewer --cores, or more memory",
}
#: How PyTorch and R say that there was no memory.
NO_MEMORY = ("can't allocate memory", "CUDA out of memory", "cannot allocate vector of size")
AGAIN = "then give the same command again, which goes on from what is complete"


@contextmanager
def logged(log: str | os.PathLike) -> Iterator[None]:
    """Send stderr and tracebacks to the rule's log; of an InputError, the message alone.

    What the system refuses (disk, memory, rights) is said in a line too, under its traceback, and so is
    an input that is damaged; where the system refuses the log itself, on the terminal alone.
    """
    gc.set_threshold(50_000)  # what libraries load stays: to look often is a tenth of a job's start
    heap.keep_freed()
    terminal = sys.stderr
    try:
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        file = open(log, "w", buffering=1)  # noqa: SIM115, to close it may fail too
    except OSError as error:
        print(f"\nerror: {refused(error) or error}\n", file=terminal, flush=True)
        raise SystemExit(1) from None
    sys.stderr = file
    try:
        if job := getattr(sys.modules.get("__main__"), "snakemake", None):
            checksums.require_unedited(job.input, job.output)
        yield
    except InputError as error:
        _say(str(error), file, terminal)
        raise SystemExit(1) from None
    except Exception as error:  # noqa: BLE001, whatever it is belongs into the log
        with suppress(OSError):
            traceback.print_exc()  # into the log, whose end Snakemake shows
        if message := refused(error) or damage.of_job():
            _say(message, file, terminal)
        raise SystemExit(1) from None
    finally:
        sys.stderr = terminal
        with suppress(OSError):
            file.close()


def _say(message: str, file, terminal) -> None:
    print(f"\nerror: {message}\n", file=terminal, flush=True)
    with suppress(OSError):
        print(f"error: {message}", file=file)


def refused(error: BaseException | None) -> str | None:
    """Say in a line what the system refused and the way out; None if `error` is nothing of that kind."""
    while error is not None:
        number = errno.ENOMEM if _no_memory(error) else _number(error)
        if number in REFUSED and not isinstance(error, InputError):
            what = getattr(error, "filename", None) or os.strerror(number)
            return f"{what}: {REFUSED[number]}, {AGAIN}"
        error = error.__cause__ or error.__context__
    return None


def _number(error: BaseException) -> int | None:
    """Return the system's number of an error; libraries written in Rust have it in their words."""
    told = re.search(r"\(os error (\d+)\)", str(error))
    return int(told[1]) if told else getattr(error, "errno", None)


def _no_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or any(text in str(error) for text in NO_MEMORY)


def code_of(params) -> dict[str, str]:
    """Return module → fingerprint of the code that a job depends on, of its `snakemake.params`.

    recency.workflow.code puts them behind the rule's own parameters, which have names.
    """
    named = len(dict(params.items()))
    unnamed = list(params)[named:]
    lines = [line for each in unnamed for line in ([each] if isinstance(each, str) else each)]
    return dict(line.rsplit(" ", 1) for line in lines)
