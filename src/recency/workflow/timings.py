"""Where a study's time went: jobs, processor time, wall time and memory, by what the jobs do.

Every rule with a script leaves a benchmark file of each job, where its log is; these are of the last
time that the job ran.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recency.files import atomic
from recency.workflow import listing

#: Beside the report, whose page links to it (recency.evaluations.report.page).
FILE = "timings.txt"


@dataclass
class Timings:
    """What the jobs of a kind took in all: seconds of processors and of the clock, and MB at most."""

    kind: str
    jobs: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    memory: float = 0.0


def track(rules: Iterable) -> None:
    """Give every rule that has a script and a log a benchmark file, named as its log is."""
    for rule in rules:
        if rule.script and rule.benchmark is None and len(rule.log) == 1:
            log = str(rule.log[0])
            rule.benchmark_modifier = rule.log_modifier
            rule.benchmark = log.replace("/logs/", "/benchmarks/").removesuffix(".log") + ".tsv"


def read(benchmarks: Path) -> list[Timings]:
    """Return what jobs took, by the first part of their files' paths; the most processor time first."""
    found: dict[str, Timings] = {}
    for path in sorted(benchmarks.rglob("*.tsv")):
        kind = path.relative_to(benchmarks).with_suffix("").parts[0]
        each = found.setdefault(kind, Timings(kind))
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        each.jobs += 1
        each.cpu += sum(_number(row, "cpu_time") for row in rows)
        each.wall += sum(_number(row, "s") for row in rows)
        each.memory = max([each.memory, *(_number(row, "max_rss") for row in rows)])
    return sorted(found.values(), key=lambda each: -each.cpu)


def _number(row: Mapping[str, str], key: str) -> float:
    """Return a number of a benchmark; 0 of a job that ended before it was looked at."""
    try:
        return float(row[key])
    except (KeyError, TypeError, ValueError):
        return 0.0


def lines(found: Sequence[Timings], where: str) -> list[str]:
    """Return a table of timings, a line each, with all of them at its end."""
    if not found:
        return [f"no job of {where} has left its times yet"]
    whole = Timings(
        "all",
        sum(each.jobs for each in found),
        sum(each.cpu for each in found),
        sum(each.wall for each in found),
        max(each.memory for each in found),
    )
    rows = [("job", "jobs", "CPU s", "wall s", "MB", "share of CPU")]
    for each in (*found, whole):
        share = each.cpu / whole.cpu if whole.cpu else 0.0
        numbers = (each.jobs, each.cpu, each.wall, each.memory)
        rows.append((each.kind, *(f"{number:,.0f}" for number in numbers), f"{share:.1%}"))
    head = f"{where}: the last run of each job; wall is the sum over jobs, which run side by side"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = [
        "  ".join([f"{row[0]:{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
    return [head, *table]


def of_study(root: Path, configfiles: Sequence[str], entries: Sequence[str]) -> list[str]:
    """Return the table of the study that config files and `--config` entries make."""
    with listing.opened(root, configfiles, entries) as workflow:
        where = workflow.pathvars.apply("<benchmarks>")
        results = workflow.pathvars.apply("<results>")
    return lines(read(root / where), results)


def write(results: str, benchmarks: str) -> None:
    """Write the table beside a study's report, which links to it."""
    with atomic(Path(results, FILE)) as path:
        path.write_text("\n".join(lines(read(Path(benchmarks)), results)) + "\n")
