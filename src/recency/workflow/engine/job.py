"""Context of a rule's script: memory settings, the log, and readable system errors.

Call the function of a rule's script with the rule's files and parameters, matched by name.
"""

import errno
import gc
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from recency import damage, devices, heap, lineage
from recency.errors import REFUSALS, warnings_in_lines, with_page

#: System error → description and way out.
REFUSED = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is exceeded; free some space",
    errno.EFBIG: "the file exceeds the size limit; raise it (ulimit -f)",
    errno.EROFS: "the disk is read-only; mount it for writing",
    errno.EACCES: "permission denied; grant this account access",
    errno.EPERM: "permission denied; grant this account access",
    errno.EIO: "the disk failed; see the system's messages (dmesg)",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.ENOMEM: "no memory was left; use fewer --cores, or more memory",
}
#: Out-of-memory messages of PyTorch and R.
NO_MEMORY = ("can't allocate memory", "CUDA out of memory", "cannot allocate vector of size")
AGAIN = "then repeat the command, which continues from the completed jobs"


@contextmanager
def logged(log: str | os.PathLike) -> Iterator[None]:
    """Write stderr and tracebacks to the rule's log; of an InputError or InputWarning, only the message.

    Inside, the process has as many GPUs as the rule asks for, each locked, and sees no others. The
    job's inputs are compared with their records before, and its outputs recorded after it.
    System errors (disk, memory, permissions) and damaged inputs are also explained in a line below the
    traceback, or on the terminal if the log cannot be written.
    """
    gc.set_threshold(
        50_000
    )  # loaded libraries stay in memory; frequent collection takes a tenth of a job's start
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
        job = getattr(sys.modules.get("__main__"), "snakemake", None)
        digests = lineage.require(job.input, job.output) if job else {}
        gpus = devices.reserved(job.resources.get("gpu", 0)) if job else nullcontext()
        with gpus, warnings_in_lines():
            yield
        if job:
            lineage.write(job, digests)
    except REFUSALS as error:
        _say(with_page(error, str(error)), file, terminal)
        raise SystemExit(1) from None
    except Exception as error:  # noqa: BLE001, whatever it is belongs into the log
        with suppress(OSError):
            traceback.print_exc()  # to the log, whose end Snakemake shows
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
    """Return one line that explains a system error and the way out, None for other errors."""
    while error is not None:
        number = errno.ENOMEM if _no_memory(error) else _number(error)
        if number in REFUSED and not isinstance(error, REFUSALS):
            what = getattr(error, "filename", None) or os.strerror(number)
            return f"{what}: {REFUSED[number]}, {AGAIN}"
        error = error.__cause__ or error.__context__
    return None


def _number(error: BaseException) -> int | None:
    """Return the errno of an error; libraries in Rust have it in the message, and NumPy has none."""
    if re.fullmatch(r"\d+ requested and \d+ written", str(error)):
        return errno.ENOSPC
    match = re.search(r"\(os error (\d+)\)", str(error))
    return int(match[1]) if match else getattr(error, "errno", None)


def _no_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or any(text in str(error) for text in NO_MEMORY)


def code_of(params) -> dict[str, str]:
    """Return module → fingerprint of the code that a job depends on, from `snakemake.params`.

    recency.workflow.plan.code appends them, unnamed, to the rule's named parameters.
    """
    named = len(dict(params.items()))
    unnamed = list(params)[named:]
    lines = [line for value in unnamed for line in ([value] if isinstance(value, str) else value)]
    return dict(line.rsplit(" ", 1) for line in lines)


def run(function: Callable, job: Any, **others: Any) -> None:
    """Call a rule's function with the job's files and parameters, inside `logged`.

    Parameters
    ----------
    function
        Function whose parameters are named as the rule's inputs, outputs, params and wildcards.
    job
        The script's `snakemake`.
    others
        Further arguments, or replacements of the job's.
    """
    with logged(job.log[0]):
        function(**arguments(function, job) | others)


def arguments(function: Callable, job: Any) -> dict[str, Any]:
    """Return the arguments of a function from a job, by name.

    - Every named input, output and param of the rule is an argument, so that a name without a
      parameter is an error. An output `x` is passed as `out_x` if the function has that parameter;
      unnamed outputs as `out`.
    - A parameter whose annotation has `of_job`, such as `LMSpec`, is constructed from several of these.
    - A param `settings` without a parameter is unpacked to arguments; inputs without parameters are
      passed together as `files`, by name.
    - The param `main`, or `module` and `function`, name the function, and are none of its arguments.
    - Wildcards, `threads` (or `processes`), `memory_gb`, and `code`, the fingerprints of the rule's
      code, are passed if the function has these parameters.

    Raises
    ------
    TypeError
        If two files or params of the rule have the same name.
    """
    parameters = inspect.signature(function, eval_str=True).parameters
    taken = {n: p for n, p in parameters.items() if p.kind is not p.VAR_KEYWORD}
    inputs, outputs, params = (dict(part.items()) for part in (job.input, job.output, job.params))
    for name in ("main", "module", "function"):
        params.pop(name, None)
    outputs = {f"out_{name}" if f"out_{name}" in taken else name: outputs[name] for name in outputs}
    if unnamed := list(job.output)[: len(job.output) - _count(outputs)]:
        outputs["out"] = unnamed[0] if len(unnamed) == 1 else unnamed
    given: dict[str, Any] = {}
    for part in (inputs, outputs, params):
        if twice := given.keys() & part.keys():
            raise TypeError(
                f"rule {job.rule}: two files or params are called {', '.join(sorted(twice))}"
            )
        given |= part
    if "settings" in params and "settings" not in taken:
        given |= given.pop("settings")
    for name, parameter in taken.items():
        if hasattr(parameter.annotation, "of_job"):
            given[name] = parameter.annotation.of_job(given, job.threads)
    if "files" in taken and "files" not in given:
        others = [name for name in inputs if name in given and name not in taken]
        given["files"] = {name: given.pop(name) for name in others}
    wildcards = dict(job.wildcards.items())
    for name in wildcards.keys() & taken.keys() - given.keys():
        kind = taken[name].annotation
        given[name] = kind(wildcards[name]) if kind in (int, float) else wildcards[name]
    also = {"threads": job.threads, "processes": job.threads, "code": code_of(job.params)}
    if "memory_gb" in taken:
        also["memory_gb"] = job.resources.mem_mb / 1000
    return given | {name: value for name, value in also.items() if name in taken}


def _count(named: dict[str, Any]) -> int:
    """Count named files; a name may have several."""
    return sum(1 if isinstance(files, str) else len(files) for files in named.values())
