"""Many simulated studies, in several processes, resumed after a stop."""

import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from readingtimes.files import atomic

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def use_one_thread() -> None:
    """Restrict each process to one thread of linear algebra, before NumPy is imported.

    Snakemake sets these variables to the job's threads, which are its processes here.
    """
    os.environ.update(dict.fromkeys(THREADS, "1"))


def in_processes(
    function: Callable[..., Any], arguments: Iterable[tuple], processes: int
) -> Iterator[Any]:
    """Yield function(*call) for all calls, in their order.

    Parameters
    ----------
    function
        A module-level function whose results can be pickled.
    arguments
        Its arguments, one tuple per call.
    processes
        Number of processes; 1 uses the current process.
    """
    if processes <= 1:
        yield from (function(*call) for call in arguments)
        return
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, context, _end_with, (os.getpid(),)) as pool:
        waiting = [pool.submit(function, *call) for call in arguments]
        try:
            for future in waiting:
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _end_with(parent: int) -> None:
    """End this process when its parent is killed, since it would hold the lock of ./run."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Finished:
    """Results of the finished parts of a job, in a file that survives a stopped job.

    Parameters
    ----------
    path
        The file, JSON lines. The first is the specification; results with another specification are not
        used. An incomplete last line is ignored.
    specification
        Everything that the results depend on.
    """

    def __init__(self, path: str | os.PathLike, specification: Mapping[str, Any]) -> None:
        self.path, self.results = Path(path), {}
        head = json.dumps(specification, sort_keys=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        if lines and lines[0] != head:
            print(f"{self.path} has another specification and is not used", file=sys.stderr)
            lines = []
        for line in lines[1:]:
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            self.results[entry["part"]] = entry["result"]
        with atomic(self.path) as temporary:
            temporary.write_text(
                "".join(
                    f"{line}\n" for line in [head, *map(_line, self.results, self.results.values())]
                )
            )

    def add(self, part: str, result: Any) -> None:
        """Store the result of a part."""
        self.results[part] = result
        with self.path.open("a") as file:
            file.write(_line(part, result) + "\n")

    def remove(self) -> None:
        """Remove the file, after the job's outputs are written."""
        self.path.unlink(missing_ok=True)


def _line(part: str, result: Any) -> str:
    return json.dumps({"part": part, "result": result})
