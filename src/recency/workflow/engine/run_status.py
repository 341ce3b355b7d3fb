"""State of a running workflow for the terminal: jobs by kind, failures, time left.

The state is updated from records of Snakemake's log (by snakemake_logger_plugin_recency).
"""

import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from recency.workflow.plan import batches, costs

#: Lines of a log that are read.
LINES = 3
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
    trainings = [job for job in state["jobs"] if job["is_training"]]
    last = ((job["lines"] or [f"{job['name']}: starts"])[-1] for job in trainings)
    return [headline(state), *rows, *(f"  {text}" for text in last)]


@dataclass
class Running:
    """A running job, from Snakemake's record."""

    name: str
    kind: str
    log: str
    is_training: bool
    since: float
    threads: int = 1


@dataclass
class RunStatus:
    """A run: its jobs, their estimated times, and their outcomes.

    Parameters
    ----------
    jobs : dict of int to (str, float)
        Snakemake's job number → kind, and estimated core seconds.
    cores : int
        Cores for jobs.
    log : str
        Snakemake's log file.
    """

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
        """Return a line with the path of the log, "" without one."""
        return f"Full log: {self.log}" if self.log else ""

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
            is_training=any(path.endswith("/training.csv") for path in record.output),
            since=record.created,
            threads=record.threads or 1,
        )

    def end(self, now: float) -> None:
        """Mark the run as ended."""
        self.ended = now

    def state(self) -> dict:
        """Return the state for `headline` and `table`; times are seconds since 1970."""
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
            {"name": job.name, "lines": _tail(job.log), "is_training": job.is_training}
            for job in sorted(self.running.values(), key=lambda job: job.since)
        ]
        return {
            "state": self._outcome(),
            "log": self.log,
            "started": self.started,
            "updated": now,
            "left_s": self._seconds_left(now, jobs),
            "kinds": kinds,
            "jobs": jobs,
            "failures": list(self.failed.values()),
        }

    def _outcome(self) -> str:
        if self.ended is None:
            return "running"
        if self.is_stopped:
            return "stopped"
        if self.failed or self.has_error:
            return "failed"
        return "finished" if self.jobs.keys() <= self.done else "stopped"

    def _seconds_left(self, now: float, jobs: list[dict]) -> float | None:
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
