"""`./run --list`: the targets of a study, one per line, with the remaining cost of each.

Timings of a study: jobs, processor time, wall time and memory, by kind of job.

Every rule with a script writes a benchmark file per job, named as its log, for the job's last run.
"""

import ast
import contextlib
import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recency import config as configuration
from recency.errors import InputError
from recency.evaluations.registry import products
from recency.files import atomic
from recency.workflow import code, cost_model, costs, snakemake_patches
from recency.workflow.costs import KINDS, Cost, Target, targets

WIDTH = 60
"""Maximum width of a padded column, characters."""


def lines(
    root: Path, configfiles: Sequence[str], entries: Sequence[str], cores: int, everything: bool
) -> list[str]:
    """Return the listing of the study defined by config files and `--config` entries.

    Paths of config files are relative to `root`. Times are for `cores` cores. `everything` lists
    every check, export and internal rule.
    """
    with opened(root, configfiles, entries) as workflow:
        study = workflow.globals["study"]
        config = study.config
        listed = targets(config)
        by_target = costs.costs(workflow, study, costs.listed(config, everything))
        absent = {name: _absent(study, name) for name in config["experiments"]}
        internal = _internal(workflow.rules, listed) if everything else []
    rows = _rows(listed, by_target, absent, cores, everything)
    head = f"study {config['study']}, scale {config['scale']}; remaining jobs, on {cores} cores"
    return [head, *_table(rows), *internal, *_notes(by_target.values(), everything)]


def plain_lines(config: Mapping) -> list[str]:
    """Return one line per target of a config, without costs, which require Snakemake."""
    listed = targets(config)
    kinds = {target.kind for target in listed}
    rows = [(target.name, target.line) for target in listed if not target.kind]
    return _table([*rows, *((kind, line) for kind, line in KINDS.items() if kind in kinds)])


def _rows(
    listed: Sequence[Target],
    estimates: Mapping[str, Cost],
    absent: Mapping[str, str],
    cores: int,
    everything: bool,
) -> list[tuple[str, str, str]]:
    """Return name, description and cost of each target, with one row per kind unless all are requested."""
    rows = []
    for target in listed:
        if target.name in estimates:
            cost = estimates[target.name].line(cores) + absent.get(target.name, "")
            rows.append((target.name, target.line, cost))
        elif everything:
            rows.append((target.name, target.line, ""))
    kinds = {target.kind for target in listed}
    if not everything:
        rows += [(kind, line, "") for kind, line in KINDS.items() if kind in kinds]
    return rows


def _notes(estimates: Iterable[Cost], everything: bool) -> list[str]:
    """Return notes on the times and on further listings."""
    notes = []
    if any(cost.left and not cost.measured for cost in estimates):
        on_gpu = f"those of {cost_model.GPU}" if cost_model.GPU else "estimated ones"
        notes.append(
            "estimated: from the jobs' work and measured costs (docs/scaling.md), on GPUs from "
            f"{on_gpu}; after the first finished jobs, from their times"
        )
    if not everything:
        notes.append("each check, export and internal rule: ./run --list all")
    return notes


def _internal(rules: Iterable, listed: Sequence[Target]) -> list[str]:
    """Return one line per rule that is not a target: its docstring, else its script's or module's."""
    shown = {target.name for target in listed}
    titles = {
        product.rule: ", ".join(t for _, t in product.makes.values()) for product in products()
    }
    rows = [
        (
            rule.name,
            titles.get(rule.name)
            or (rule.docstring or "").rstrip(".")
            or _docstring(
                code.starts_of(
                    Path(rule.basedir.get_path_or_uri(secret_free=True), rule.script),
                    rule.params.get("main"),
                )[-1]
            ),
        )
        for rule in rules
        if rule.name not in shown and rule.script
    ]
    return ["", "internal rules, on which targets depend", *_table(rows)]


def _docstring(path: Path) -> str:
    """Return the first line of a script's docstring, without the rule's name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    line = (ast.get_docstring(tree) or "").partition("\n")[0]
    line = re.sub(r"^Rules? [\w, ]+: ", "", line).rstrip(".")
    return line[:1].upper() + line[1:]


def _absent(study, experiment: str) -> str:
    """Return a note on the missing datasets of an experiment."""
    others = configuration.datasets_read(study.config, [experiment])
    names = dict.fromkeys([*study.all_datasets(experiment), *sorted(others)])
    labels = dict.fromkeys(
        study.config["datasets"][name]["label"] for name in names if name in study.absent
    )
    return f" (without {', '.join(labels)}: missing)" if labels else ""


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows with all but the last column padded, up to WIDTH."""
    widths = [min(WIDTH, max(map(len, column))) for column in zip(*rows, strict=True)][:-1]
    return [
        "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths)), row[-1]]).rstrip()
        for row in rows
    ]


@contextlib.contextmanager
def opened(root: Path, configfiles: Sequence[str], entries: Sequence[str]) -> Iterator:
    """Read the Snakefile silently, as a dry run does, and yield Snakemake's workflow."""
    from snakemake.api import SnakemakeApi
    from snakemake.cli import parse_config
    from snakemake.exceptions import WorkflowError
    from snakemake.logging import logger
    from snakemake.settings import types

    try:
        settings = parse_config(entries)
    except ValueError as error:
        raise InputError(f"--config: {error}") from None
    output = types.OutputSettings(dryrun=True, quiet={types.Quietness.ALL})
    triggers = types.RerunTrigger.parse_choices_set(["mtime", "params", "input"])
    logger.disabled = True
    try:
        with contextlib.chdir(root), SnakemakeApi(output) as api:
            opened = api.workflow(
                resource_settings=types.ResourceSettings(cores=1),
                config_settings=types.ConfigSettings(
                    config=settings, configfiles=[Path(name) for name in configfiles]
                ),
                snakefile=Path("Snakefile"),
            )
            opened.dag(types.DAGSettings(rerun_triggers=triggers))
            yield snakemake_patches.opened_workflow(opened)
    except WorkflowError as error:
        raise InputError(str(error)) from None
    finally:
        logger.disabled = False


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


def timing_lines(timings: Sequence[Timings], where: str) -> list[str]:
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
    with opened(root, configfiles, entries) as workflow:
        where = workflow.pathvars.apply("<benchmarks>")
        results = workflow.pathvars.apply("<results>")
    return timing_lines(read(root / where), results)


def write(results: str, benchmarks: str) -> None:
    """Write the table next to a study's report, which links to it."""
    with atomic(Path(results, FILE)) as path:
        path.write_text("\n".join(timing_lines(read(Path(benchmarks)), results)) + "\n")
