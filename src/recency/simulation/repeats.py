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

from recency.files import atomic

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def use_one_thread() -> None:
    """Let each process have one thread of linear algebra; to be called before NumPy is imported.

    Snakemake sets these variables to the job's threads, which are its processes here.
    """
    os.environ.update(dict.fromkeys(THREADS, "1"))


def in_processes(
    function: Callable[..., Any], arguments: Iterable[tuple], processes: int
) -> Iterator[Any]:
    """Yield function(*call) of all calls' arguments, in their order.

    Parameters
    ----------
    function
        A function of a module, whose results can be pickled.
    arguments
        Its arguments, a tuple for each call.
    processes
        Number of processes; 1 stays in this one.
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
    """End this process where its parent was killed: it would hold the lock of ./run."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Finished:
    """Results of the finished parts of a job, in a file that a stopped job leaves.

    Parameters
    ----------
    path
        The file, JSON lines. The first is the specification; the results of another one are not
        used. An incomplete last line is ignored.
    specification
        All that the results depend on.
    """

    def __init__(self, path: str | os.PathLike, specification: Mapping[str, Any]) -> None:
        self.path, self.results = Path(path), {}
        head = json.dumps(specification, sort_keys=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        if lines and lines[0] != head:
            print(f"{self.path} is of another specification and is not used", file=sys.stderr)
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
        """Keep the result of a part."""
        self.results[part] = result
        with self.path.open("a") as file:
            file.write(_line(part, result) + "\n")

    def remove(self) -> None:
        """Remove the file; to be called when the job's outputs are written."""
        self.path.unlink(missing_ok=True)


def _line(part: str, result: Any) -> str:
    return json.dumps({"part": part, "result": result})
