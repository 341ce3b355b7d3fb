"""Snakemake's `--executor recency`, which `./run` selects: jobs are forks of a resident worker.

A job's Python takes 1 to 6 processor seconds to import its libraries, often longer than its work. Here
Python scripts run as forks of a process that has imported them (worker.py) and computed nothing. All
else is Snakemake's local executor: which job runs, what its script contains, its variables, log,
benchmark and errors.

A job has a process of its own, as with the local executor, if it has conda, a container or modules, a
GPU or a limit on its address space; if it has several threads and opens no network, since it limits
its libraries' threads before it imports them; and after a worker could not start or was killed.

As in the logger plugin, nothing of `recency` is imported here.
"""

import contextlib
import copy
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FunctionType
from typing import Any

from snakemake import script as snakemake_script
from snakemake.benchmark import benchmarked
from snakemake.executors import local
from snakemake.executors.local import common_settings
from snakemake.script import PythonScript
from snakemake.shell import shell

__all__ = ["Executor", "common_settings"]

#: The module, named in `params` by its fingerprint, that all jobs that open networks reach.
OF_NETWORKS = "recency.attention.biased "
#: Seconds between two looks at whether a worker that is starting is alive.
PATIENCE = 0.5
ANSWER = 64  # bytes of a worker's answer, at most


class Executor(local.Executor):
    """The local executor, with Python scripts as forks of resident workers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.workers: dict[tuple, Worker] = {}
        self.lock = threading.Lock()
        self.is_cancelled = False
        forked = type("ForkedScript", (ForkedScript,), {"executor": self})
        self.script = _with_globals(snakemake_script.script, PythonScript=forked)

    def job_args_and_prepare(self, job):
        """Return the local executor's arguments of a job, whose rule runs its script by a fork."""
        rule, *others = super().job_args_and_prepare(job)
        if rule.script:
            rule = copy.copy(rule)
            rule.run_func = _with_globals(rule.run_func, script=self.script)
        return (rule, *others)

    def worker_of(self, script: "ForkedScript") -> "Worker":
        """Return the worker for a script, running unless it could not start or was killed."""
        key = (script.opens_networks(), script.threads, script.resources.get("tmpdir"))
        with self.lock:
            worker = self.workers.setdefault(key, Worker())
        worker.start(script)
        return worker

    def cancel(self) -> None:
        """Wait for the jobs, which the signal that ends the run ends too; begin no others."""
        self.is_cancelled = True
        super().cancel()
        self._end_workers()

    def shutdown(self) -> None:
        """Wait for the jobs, and end the workers."""
        super().shutdown()
        self._end_workers()

    def _end_workers(self) -> None:
        for worker in self.workers.values():
            worker.end()


def _with_globals(function: FunctionType, **names: object) -> FunctionType:
    """Return a copy of a function that finds other values under some global names."""
    return FunctionType(
        function.__code__,
        function.__globals__ | names,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


class ForkedScript(PythonScript):
    """A Python script of a job that runs as a fork of a worker, or on its own."""

    executor: Executor

    def execute_script(self, fname: str, edit: bool = False) -> None:
        """Run the script that Snakemake has written.

        Raises
        ------
        subprocess.CalledProcessError
            If it fails, with its exit status or, if a signal ended it, the negative number of that.
        """
        code = None
        if self._is_forkable():
            code = self.executor.worker_of(self).run(fname, self.bench_record)
        if code is None and self.executor.is_cancelled:
            code = -signal.SIGINT
        if code is None:
            super().execute_script(fname, edit)
        elif code:
            raise subprocess.CalledProcessError(code, f"{sys.executable} {fname}")

    def start_worker(self, address: str) -> None:
        """Run a worker for scripts of this kind until it ends, in the environment of this script."""
        try:
            shell(
                "{python:q} {worker:q} {address:q} {kind}",
                python=sys.executable,
                worker=str(Path(__file__).with_name("worker.py")),
                address=address,
                kind="networks" if self.opens_networks() else "tables",
                resources=self.resources,
                threads=self.threads,
            )
        except subprocess.CalledProcessError as error:
            if error.returncode == -signal.SIGINT:  # Ctrl-C before it could ignore the signal
                self.executor.is_cancelled = True

    def opens_networks(self) -> bool:
        """Return whether the job's code, by its fingerprints in `params`, opens networks."""
        lists = (value if isinstance(value, list) else [value] for value in self.params)
        return any(str(line).startswith(OF_NETWORKS) for values in lists for line in values)

    def _is_forkable(self) -> bool:
        return (
            sys.platform == "linux"
            and not (self.conda_env or self.container_img or self.env_modules or self.shadow_dir)
            and self.resources.get("shell_exec") is None
            and not self.resources.get("gpu")
            and (self.threads == 1 or self.opens_networks())
            and resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
        )


class Worker:
    """The process of worker.py, as Snakemake sees it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.connection: socket.socket | None = None

    def start(self, script: ForkedScript) -> None:
        """Start the process on the first call, and wait until it has its libraries."""
        with self.lock:
            if self.thread is not None:
                return
            with (
                contextlib.suppress(OSError),  # such as a path too long for a socket
                tempfile.TemporaryDirectory(prefix="recency-") as folder,  # for this account alone
                socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
            ):
                address = os.path.join(folder, "worker")
                listener.bind(address)
                listener.listen(1)
                listener.settimeout(PATIENCE)
                self.thread = threading.Thread(target=script.start_worker, args=(address,))
                self.thread.daemon = True
                self.thread.start()
                while self.connection is None and self.thread.is_alive():
                    with contextlib.suppress(TimeoutError):
                        self.connection, _ = listener.accept()

    def run(self, script: str, record: Any) -> int | None:
        """Run a script in a fork, measured for its benchmark.

        Returns
        -------
        int | None
            Its exit status, as subprocess has it; None if no fork has done or is doing its work.
        """
        if self.connection is None:
            return None
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with mine:
            try:
                with theirs:
                    socket.send_fds(self.connection, [script.encode()], [theirs.fileno()])
                number = int(mine.recv(ANSWER) or 0)
            except OSError:
                return None
            if number <= 0:
                return number or None
            try:
                fork = os.pidfd_open(number)
            except ProcessLookupError:  # killed before it began
                return int((mine.recv(ANSWER).split() or [0])[0]) or None
            try:
                with benchmarked(number if record else False, record):
                    with contextlib.suppress(OSError):  # it was killed: its status follows
                        mine.send(b"go")
                    code, *seconds = mine.recv(ANSWER).split() or [b""]
                if not code:  # the worker was killed; its fork ends before another process begins
                    signal.pidfd_send_signal(fork, signal.SIGKILL)
                    select.select([fork], [], [])
            finally:
                os.close(fork)
        if record and seconds:  # all of it, where Snakemake looks at a job from time to time
            record.cpu_time = max(record.cpu_time, round(float(seconds[0]), 2))
        return int(code) if code else None

    def end(self) -> None:
        """End the process."""
        if self.connection:
            self.connection.close()
            self.connection = None
            self.thread.join()
