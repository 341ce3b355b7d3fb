"""State of a running workflow: jobs by kind, time left, losses, logs, disk and memory.

The state is updated from records of Snakemake's log (by snakemake_logger_plugin_recency) and written to
`status.json` and `status.html` in the results; `./run --watch` reads the former.
"""

import csv
import json
import math
import os
import re
import shutil
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recency.errors import InputError
from recency.files import atomic
from recency.workflow import batches, costs, status_page

JSON, PAGE = "status.json", "status.html"
#: File in the folder of a run with the path of the last run's status.json.
POINTER = Path(".snakemake", "recency-status")
#: Maximum points of a loss curve, and lines of a log, on the page.
POINTS, LINES = 150, 3
#: Seconds of completed work from which the time left is estimated from the run's speed.
SETTLED = 30.0
STOPPING = ("Terminating processes on user request", "Will exit after finishing")
LEFT = re.compile(r"(?:(\d+):)?(\d+):(\d\d) left")


def headline(state: Mapping) -> str:
    """Return the progress of a run, or how it ended, in one line."""
    done, jobs = (sum(kind[key] for kind in state["kinds"]) for key in ("done", "jobs"))
    took = costs.duration(state["updated"] - state["started"])
    if state["state"] == "running":
        left = f", about {costs.duration(state['left_s'])} left" if done < jobs else ""
        failed = f", {len(state['failures'])} failed" if state["failures"] else ""
        running = len(state["jobs"])
        clock = time.strftime("%H:%M", time.localtime(state["updated"]))
        return f"{clock}  {done:,} of {jobs:,} jobs done{failed}, {running} running{left}"
    names = ", ".join(failure["name"] for failure in state["failures"])
    failed = f"; failed: {names}" if names else ""
    log = f"; full log: {state['log']}" if state["log"] and state["state"] != "finished" else ""
    return f"{state['state'].capitalize()}: {done:,} of {jobs:,} jobs done in {took}{failed}{log}"


def table(state: Mapping) -> list[str]:
    """Return lines for the terminal: the run, each remaining kind of job, each running training."""
    kinds = [kind for kind in state["kinds"] if kind["done"] < kind["jobs"]]
    width = max((len(kind["kind"]) for kind in kinds), default=0)
    rows = []
    for kind in kinds:
        failed = f", {kind['failed']} failed" if kind["failed"] else ""
        counts = f"{kind['done']:,} of {kind['jobs']:,} done, {kind['running']} running{failed}"
        rows.append(f"  {kind['kind']:{width}}  {counts}")
    trainings = [job for job in state["jobs"] if "losses" in job]
    last = ((job["lines"] or [f"{job['name']}: starts"])[-1] for job in trainings)
    return [headline(state), *rows, *(f"  {text}" for text in last)]


@dataclass
class Running:
    """A running job, from Snakemake's record."""

    name: str
    kind: str
    log: str
    losses: str
    since: float
    threads: int = 1


@dataclass
class RunStatus:
    """A run: its jobs, their estimated times, and their outcomes.

    Parameters
    ----------
    results : Path
        The study's folder of results.
    study : str
        Its name and scale.
    jobs : dict of int to (str, float)
        Snakemake's job number → kind, and estimated core seconds.
    cores : int
        Cores for jobs.
    log : str
        Snakemake's log file.
    """

    results: Path
    study: str
    jobs: dict[int, tuple[str, float]]
    cores: int
    log: str = ""
    started: float = field(default_factory=time.time)

    headline = staticmethod(headline)
    table = staticmethod(table)

    def __post_init__(self):
        self.running: dict[int, Running] = {}
        self.done: set[int] = set()
        self.failed: dict[int, dict[str, str]] = {}
        self.has_error = self.is_stopped = False
        self.ended: float | None = None

    def introduction(self) -> str:
        """Return a line with the paths of the status page and the log."""
        log = f"; full log: {self.log}" if self.log else ""
        return f"This run is shown in {self.results / PAGE}{log}"

    def take(self, record) -> None:
        """Update the state by a record of Snakemake's log."""
        event = getattr(record, "event", None)
        if event == "job_info":
            self._start(record)
        elif event == "job_finished":
            self.running.pop(record.job_id, None)
            self.failed.pop(record.job_id, None)  # an earlier attempt
            self.done.add(record.job_id)
        elif event == "job_error":
            job = self.running.pop(record.jobid, None)
            if not self.is_stopped:  # otherwise the run ended it
                log = next(iter(record.log), "")
                last = (_tail(log) or [""])[-1]
                name = job.name if job else record.rule_name
                self.failed[record.jobid] = {"name": name, "log": log, "line": last}
        elif event == "error" or (event is None and record.levelname == "ERROR"):
            self.has_error = True
        elif str(record.msg).startswith(STOPPING):
            self.is_stopped = True

    def _start(self, record) -> None:
        kind, _ = self.jobs.get(record.jobid, ("", 0.0))
        if not kind:
            return  # a target rule without work
        rule = batches.kind_of(record.rule_name)
        self.running[record.jobid] = Running(
            name=" ".join([rule, *map(str, record.wildcards.values())]),
            kind=kind,
            log=next(iter(record.log), ""),
            losses=next((path for path in record.output if path.endswith("/training.csv")), ""),
            since=record.created,
            threads=record.threads or 1,
        )

    def end(self, now: float) -> None:
        """Mark the run as ended."""
        self.ended = now

    def state(self) -> dict:
        """Return the content of `status.json`; times are seconds since 1970."""
        now = self.ended or time.time()
        planned = Counter(kind for kind, _ in self.jobs.values())
        done = Counter(self.jobs[job][0] for job in self.done if job in self.jobs)
        running = Counter(job.kind for job in self.running.values())
        failed = Counter(self.jobs[job][0] for job in self.failed if job in self.jobs)
        kinds = [
            {
                "kind": kind,
                "jobs": planned[kind],
                "done": done[kind],
                "running": running[kind],
                "failed": failed[kind],
                "left": planned[kind] - done[kind] - running[kind] - failed[kind],
            }
            for kind in planned
        ]
        jobs = [
            {"name": job.name, "since": job.since, "log": job.log, "lines": _tail(job.log)}
            | ({"losses": losses(Path(job.losses))} if job.losses else {})
            for job in sorted(self.running.values(), key=lambda job: job.since)
        ]
        return {
            "study": self.study,
            "state": self._outcome(),
            "log": self.log,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "page": str(self.results / PAGE),
            "started": self.started,
            "updated": now,
            "left_s": self._left(now, jobs),
            "kinds": kinds,
            "jobs": jobs,
            "failures": list(self.failed.values()),
            **_machine(self.results),
        }

    def _outcome(self) -> str:
        if self.ended is None:
            return "running"
        if self.is_stopped:
            return "stopped"
        if self.failed or self.has_error:
            return "failed"
        return "finished" if self.jobs.keys() <= self.done else "stopped"

    def _left(self, now: float, jobs: list[dict]) -> float | None:
        """Return the estimated seconds left from the run's speed, None after its end.

        A running job's own estimate in its log takes precedence.
        """
        if self.ended is not None:
            return None
        passed, whole = now - self.started, sum(seconds for _, seconds in self.jobs.values())
        worked = sum(self.jobs[job][1] for job in self.done if job in self.jobs)
        for number, job in self.running.items():
            worked += min(self.jobs[number][1] * 0.95, (now - job.since) * job.threads)
        speed = float(self.cores)
        if passed > SETTLED and worked:
            speed = min(max(worked / passed, self.cores / 10), self.cores * 4)
        times = (time for job in jobs for line in job["lines"][-1:] for time in LEFT.findall(line))
        longest = max((int(h or 0) * 3600 + int(m) * 60 + int(s) for h, m, s in times), default=0)
        return max((whole - worked) / speed, longest)

    def write(self, state: Mapping) -> str:
        """Write `status.json` and the page atomically; return the error if they cannot be written, or ""."""
        try:
            with atomic(self.results / JSON) as path:
                path.write_text(json.dumps(state), encoding="utf-8")
            with atomic(self.results / PAGE) as path:
                path.write_text(status_page.page(state, headline(state)), encoding="utf-8")
            if not POINTER.is_file() or POINTER.read_text() != str(self.results.absolute()):
                with atomic(POINTER) as path:
                    path.write_text(str(self.results.absolute()))
        except (OSError, InputError) as error:
            return f"{PAGE} is out of date, since it could not be written: {error}"
        return ""


def losses(path: Path) -> list[list[list[float]]]:
    """Return thinned curves of step and loss (nats) of training and validation; empty without a file."""
    curves: tuple[list, list] = ([], [])
    try:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                for curve, key in zip(curves, ("loss_nats", "validation_nats"), strict=True):
                    if row.get(key) and math.isfinite(value := float(row[key])):
                        curve.append([int(row["step"]), value])
    except (OSError, ValueError):
        return [[], []]
    return [_thinned(curve) for curve in curves]


def _thinned(curve: list) -> list:
    """Return a curve thinned to POINTS by means of neighbours."""
    size = math.ceil(len(curve) / POINTS) or 1
    parts = (curve[i : i + size] for i in range(0, len(curve), size))
    return [[part[-1][0], round(sum(y for _, y in part) / len(part), 4)] for part in parts]


def _tail(path: str) -> list[str]:
    """Return the last lines of a log."""
    return list(_read_tail(path))[-LINES:] if path else []


def _read_tail(path: str) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4000))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return
    for line in text.replace("\r", "\n").splitlines():
        if line.strip():
            yield line.rstrip()[:400]


def _machine(folder: Path) -> dict[str, int]:
    """Return total and free bytes of the results' disk and of memory."""
    import psutil

    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    disk, memory = shutil.disk_usage(there), psutil.virtual_memory()
    return {
        "disk_free": disk.free,
        "disk": disk.total,
        "memory_free": memory.available,
        "memory": memory.total,
    }
