"""Timings of a study: jobs, processor time, wall time and memory, by kind of job.

Every rule with a script writes a benchmark file per job, named as its log, for the job's last run.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recency.files import atomic
from recency.workflow import listing

#: Next to the report, which links to it (recency.evaluations.report.page).
FILE = "timings.txt"


@dataclass
class Timings:
    """Total processor and wall time (seconds) and maximum memory (MB) of a kind of jobs."""

    kind: str
    jobs: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    memory: float = 0.0


def track(rules: Iterable) -> None:
    """Add a benchmark file, named as the log, to every rule with a script and a log."""
    for rule in rules:
        if rule.script and rule.benchmark is None and len(rule.log) == 1:
            log = str(rule.log[0])
            rule.benchmark_modifier = rule.log_modifier
            rule.benchmark = log.replace("/logs/", "/benchmarks/").removesuffix(".log") + ".tsv"


def read(benchmarks: Path) -> list[Timings]:
    """Return timings by the first part of the benchmarks' paths, sorted by processor time."""
    by_kind: dict[str, Timings] = {}
    for path in sorted(benchmarks.rglob("*.tsv")):
        kind = path.relative_to(benchmarks).with_suffix("").parts[0]
        timing = by_kind.setdefault(kind, Timings(kind))
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        timing.jobs += 1
        timing.cpu += sum(_number(row, "cpu_time") for row in rows)
        timing.wall += sum(_number(row, "s") for row in rows)
        timing.memory = max([timing.memory, *(_number(row, "max_rss") for row in rows)])
    return sorted(by_kind.values(), key=lambda timing: -timing.cpu)


def _number(row: Mapping[str, str], key: str) -> float:
    """Return a number of a benchmark, 0 for a job that ended before it was sampled."""
    try:
        return float(row[key])
    except (KeyError, TypeError, ValueError):
        return 0.0


def lines(timings: Sequence[Timings], where: str) -> list[str]:
    """Return the lines of a table of timings, with the total last."""
    if not timings:
        return [f"no job of {where} has finished yet"]
    whole = Timings(
        "all",
        sum(timing.jobs for timing in timings),
        sum(timing.cpu for timing in timings),
        sum(timing.wall for timing in timings),
        max(timing.memory for timing in timings),
    )
    rows = [("job", "jobs", "CPU s", "wall s", "MB", "share of CPU")]
    for timing in (*timings, whole):
        share = timing.cpu / whole.cpu if whole.cpu else 0.0
        numbers = (timing.jobs, timing.cpu, timing.wall, timing.memory)
        rows.append((timing.kind, *(f"{number:,.0f}" for number in numbers), f"{share:.1%}"))
    head = f"{where}: the last run of each job; wall is the sum over jobs, which run in parallel"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = [
        "  ".join([f"{row[0]:{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
    return [head, *table]


def of_study(root: Path, configfiles: Sequence[str], entries: Sequence[str]) -> list[str]:
    """Return the table for the study defined by config files and `--config` entries."""
    with listing.opened(root, configfiles, entries) as workflow:
        where = workflow.pathvars.apply("<benchmarks>")
        results = workflow.pathvars.apply("<results>")
    return lines(read(root / where), results)


def write(results: str, benchmarks: str) -> None:
    """Write the table next to a study's report, which links to it."""
    with atomic(Path(results, FILE)) as path:
        path.write_text("\n".join(lines(read(Path(benchmarks)), results)) + "\n")
