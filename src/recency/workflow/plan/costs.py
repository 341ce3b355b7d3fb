"""Remaining cost of each target of a study: jobs by kind, downloads, and hours on this machine.

Snakemake plans all targets at once; the cost of a target is that of the jobs it depends on. Hours are
computed from benchmarks of finished jobs in the study's results or, without benchmarks, by the cost
model, and are then marked as estimates.

`./run --list` prints the targets, one per line, with the remaining cost of each. `./run timings` prints
where time went, by kind of job: every rule with a script writes a benchmark file per job, named as its
log, for the job's last run.
"""

import ast
import contextlib
import csv
import os
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import mean

from readingtimes.files import atomic
from readingtimes.names import near
from recency import config as configuration
from recency import stored_parts
from recency.errors import InputError
from recency.evaluations import registry
from recency.evaluations.registry import products
from recency.networks import hub
from recency.workflow.engine import snakemake_patches
from recency.workflow.plan import batches, code, cost_model
from recency.workflow.plan.cost_model import Time


@dataclass(frozen=True)
class Target:
    """A target with a one-line description.

    Targets of a kind such as `export_<lm>` share the description of the kind.
    """

    name: str
    line: str
    kind: str = ""


#: Kind of targets → its description.
KINDS = {
    "explore_<experiment>": "explorer of an experiment's words, readers and LMs",
    "check_<dataset>": "quality report of reading times, before anything is fitted",
    "export_<dataset>": "every word with all LMs' surprisals, every response, and R code, as tables",
    "export_<lm>": "an LM as a folder that AutoModelForCausalLM opens, with a model card",
    "push_<lm>": "that folder on the Hugging Face Hub",
}


def exported_lms(config: Mapping) -> list[str]:
    """Return the LMs that can be exported: networks."""
    kinds = {name: configuration.kind_of(lm) for name, lm in config.get("lms", {}).items()}
    return [name for name, kind in kinds.items() if kind == "network"]


def targets(config: Mapping) -> list[Target]:
    """Return the targets of a complete config, in the order of the listing."""
    experiments = config.get("experiments", {})
    result = [Target("all", f"what `run` selects: {', '.join(config.get('run', []))}")]
    result += [Target(name, entry.get("title", "")) for name, entry in experiments.items()]
    result += [
        Target(name, entry["label"])
        for name, entry in config.get("targets", {}).items()
        if set(configuration.experiments_of(entry)) <= experiments.keys()
    ]
    for evaluation in registry.evaluations().values():
        result += [Target(*row) for row in (evaluation.targets or _no_targets)(config)]
    for name, entry in config.get("datasets", {}).items():
        label = entry.get("label", name)
        result.append(Target(f"check_{name}", f"{label}, quality report", "check_<dataset>"))
        result.append(Target(f"export_{name}", f"{label} as tables", "export_<dataset>"))
    for name in exported_lms(config):
        label = config["lms"][name].get("label", name)
        result.append(Target(f"export_{name}", f"{label} as a folder", "export_<lm>"))
        result.append(Target(f"push_{name}", f"{label} on the Hub", "push_<lm>"))
    return result


def _no_targets(config: Mapping) -> list[tuple[str, str]]:
    """Return the targets of an evaluation without targets other than experiments."""
    return []


def require_distinct(config: Mapping) -> None:
    """Raise InputError if `export_<name>` would be ambiguous between an LM and a dataset."""
    for name in exported_lms(config):
        if name in config["datasets"]:
            raise InputError(
                f"lms → {name}: a dataset is also called {name!r}, so ./run export_{name} would be "
                "ambiguous; rename one of them"
            )


def experiments(asked: Iterable[str], config: Mapping) -> list[str]:
    """Return the experiments of the targets of a run.

    Those of `run` for no target, `all` and files; none for other targets, such as exports.

    Parameters
    ----------
    asked : iterable of str
        The targets on the command line.
    config : mapping
        The complete config.
    """
    named: dict[str, None] = {}
    for name in [*map(str, asked)] or ["all"]:
        target = config.get("targets", {}).get(name, {"experiment": name})
        whole = name == "all" or os.sep in name
        named |= dict.fromkeys(config["run"] if whole else configuration.experiments_of(target))
    return [name for name in named if name in config["experiments"]]


def require_known(asked: Iterable[str], config: Mapping, rules: Collection[str]) -> None:
    """Raise InputError, with the nearest name, for a target that is neither a rule nor a file.

    A file has a folder or an extension, or exists. `rules` are the names of all rules.
    """
    for name in map(str, asked):
        if name in rules or os.sep in name or os.path.splitext(name)[1] or os.path.exists(name):
            continue
        names = [target.name for target in targets(config)]
        close = near(name, names)
        meant = f"did you mean {close!r}? " if close else ""
        raise InputError(f"no target is called {name!r}; {meant}./run --list shows all targets")


LONG = 60.0
"""Core seconds of a job from which it decides whether a total is an estimate."""


@cache
def kinds() -> dict[str, str]:
    """Return rule → the kind of job that is counted separately."""
    return {rule: cost.kind for rule, cost in cost_model.by_rule().items() if cost.kind}


@dataclass
class Cost:
    """Cost of a target: all and remaining jobs by kind, seconds of cores and GPUs, bytes to download.

    `unsized`: downloads whose server states no size; `measured`: whether times of trainings and
    regressions are from benchmarks; `unplanned`: the reason if the target cannot be planned.
    """

    all: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    gpu_seconds: float = 0.0
    measured: bool = True
    bytes: int = 0
    unsized: int = 0
    unplanned: str = ""

    def line(self, cores: int) -> str:
        """Return the cost in words, with the time on this many cores, and of GPUs."""
        if self.unplanned:
            return f"no plan: {self.unplanned}"
        if not self.left:
            return f"made ({_jobs(self.all)})"
        fetched = f", {self.bytes / 1e9:,.2g} GB to fetch" if self.bytes >= 5e6 else ""
        if self.unsized:
            fetched += f"{' and' if fetched else ','} {_format_count(self.unsized, 'file')} of unknown size"
        about = "" if self.measured else "estimated "
        least = self.gpu_seconds / max(1, cost_model.gpus_here())
        time = f"{about}{duration(max(self.seconds / cores, least))}"
        if self.gpu_seconds:
            time += f", of which a GPU computes {duration(self.gpu_seconds)}"
        return f"{_jobs(self.left, self.all)}{fetched}; {time}"


class Timing:
    """Times of jobs, from benchmarks of finished ones, stored parts and the cost model."""

    def __init__(self, study, benchmarks: Path, results: Path):
        self.study, self.benchmarks, self.results = study, benchmarks, results
        self.model = cost_model.Model(study)
        self._found: dict[str, dict[str, float]] = {}
        self._parts: dict[str, dict[Path, list[float]]] = {}

    def of_rule(self, rule: str) -> dict[str, float]:
        """Return path of the benchmark below the rule's folder → seconds, for finished jobs of a rule."""
        if rule not in self._found:
            folder = self.benchmarks / rule
            paths = sorted(folder.rglob("*.tsv"))
            self._found[rule] = {
                path.relative_to(folder).with_suffix("").as_posix(): seconds
                for path in paths
                if (seconds := _seconds(path)) is not None
            }
        return self._found[rule]

    def part(self, kind: str, folder: Path) -> tuple[float | None, bool]:
        """Return core seconds of a fit or of scoring a dataset, and whether they were measured.

        They are averages over finished ones in the same `folder`, else over all of the kind; None if
        there are none.
        """
        if kind not in self._parts:
            folders = sorted((self.results / kind).rglob(stored_parts.FOLDER))
            self._parts[kind] = {path.parent: stored_parts.seconds(path.parent) for path in folders}
        by_folder = self._parts[kind]
        every = [second for times in by_folder.values() for second in times]
        if alike := by_folder.get(folder, []):
            return mean(alike), True
        return (mean(every), False) if every else (None, False)

    def job(self, job) -> Time:
        """Return the time of a job: as finished ones took here, or extrapolated."""
        time = replace(self.model.time(job.rule, job.wildcards), measured=False)
        if (kind := batches.kind_of(job.rule.name)) == "train":
            return self._training(job.wildcards.lm, time)
        if kind in ("regression", "surprisal"):
            return self._of_parts(kind, job, time)
        if finished := self.of_rule(job.rule.name):
            return self._time_of_job(mean(finished.values()), time)
        return time

    def _time_of_job(self, wall: float, time: Time, cores: int = 1) -> Time:
        """Return the time of a job that takes `wall` seconds on one GPU, or on this many cores."""
        core = wall if time.gpu else wall * cores
        return Time(core, wall if time.gpu else 0.0, wall, True)

    def _training(self, lm: str, time: Time) -> Time:
        """Return the time of a training: measured, by the speed of similar trainings, or extrapolated."""
        threads = self.study.config["threads"]["train"]
        finished = self.of_rule("train")
        if lm in finished:
            return self._time_of_job(finished[lm], time, threads)
        work = self.model.loads.training
        timed = [name for name in finished if name in self.study.lms and self._alike(name, lm)]
        rates = [work(name) / finished[name] for name in timed if work(name)]
        return self._time_of_job(work(lm) / mean(rates), time, threads) if rates else time

    def _of_parts(self, kind: str, job, time: Time) -> Time:
        """Return the time of the missing parts of a job, or of all parts if none is missing."""
        ending = {"regression": ".json", "surprisal": ".parquet"}[kind]
        files = [Path(path) for path in job.output if path.endswith(ending)]
        left = [path for path in files if not path.exists()] or files
        parts = [self.part(kind, path.parent) for path in left]
        if any(seconds is None for seconds, _ in parts):
            share = len(left) / len(files)
            return Time(time.core * share, time.gpu * share, time.wall * share, False)
        wall = cost_model.START + sum(seconds for seconds, _ in parts)
        return Time(wall, wall if time.gpu else 0.0, wall, all(known for _, known in parts))

    def _alike(self, one: str, other: str) -> bool:
        recipes = [
            self.study.config["recipes"][self.study.lms[lm]["recipe"]] for lm in (one, other)
        ]
        return all(recipes[0][key] == recipes[1][key] for key in ("device", "precision"))


def costs(workflow, study, names: Iterable[str]) -> dict[str, Cost]:
    """Plan the targets `names`; return name → cost.

    `workflow` is Snakemake's after reading the Snakefile. Targets that cannot be planned together are
    halved until those that cannot be planned at all stand alone, with the reason in `unplanned`.
    """
    from snakemake.exceptions import RuleException, WorkflowError

    timing = _timing(study)

    def planned(names: list[str]) -> dict[str, Cost]:
        try:
            return _plan_together(workflow, study, timing, names)
        except (WorkflowError, RuleException, OSError) as error:
            if len(names) == 1:
                return {names[0]: Cost(unplanned=_short(error))}
        half = len(names) // 2
        return planned(names[:half]) | planned(names[half:])

    return planned(list(names))


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) < 120 else f"{text[:119]}…"


def _plan_together(workflow, study, timing: Timing, names: Sequence[str]) -> dict[str, Cost]:
    """Plan targets together, as `snakemake --dag` does, and sum the cost of each."""
    snakemake_patches.build_dag(workflow, names)
    dag = workflow.dag
    by_name = {job.rule.name: job for job in dag.targetjobs}
    return {name: _cost(dag, by_name[name], study, timing) for name in names}


def of_run(workflow, study) -> tuple[Cost, dict[int, tuple[str, float]]]:
    """Return the cost of a run's planned jobs, and job number → (kind, core seconds)."""
    cost, timing, jobs = Cost(), _timing(study), {}
    for job in workflow.dag.needrun_jobs():
        before = cost.seconds
        if kind := _add(cost, workflow.dag, job, study, timing):
            jobs[workflow.dag.jobid(job)] = (kind, cost.seconds - before)
    return cost, jobs


def _timing(study) -> Timing:
    benchmarks, results = map(study.resolve, ("<benchmarks>", "<results>"))
    return Timing(study, Path(benchmarks), Path(results))


def _cost(dag, target, study, timing: Timing) -> Cost:
    """Sum the cost of the jobs that a target's job depends on."""
    cost, waiting, seen = Cost(), [target], {target}
    while waiting:
        for job in dag.dependencies[waiting.pop()]:
            if job not in seen:
                seen.add(job)
                waiting.append(job)
                _add(cost, dag, job, study, timing)
    return cost


def _add(cost: Cost, dag, job, study, timing: Timing) -> str:
    """Add a job to a target's cost; return its kind, "" for a job without a script."""
    if job.rule.norun:
        return ""
    kind = kinds().get(batches.kind_of(job.rule.name), "other")
    cost.all[kind] += 1
    if not dag.needrun(job):
        return kind
    cost.left[kind] += 1
    if kind == "download":
        (name,) = job.wildcards
        path = name if job.rule.name == "download" else f"hub/{name}{hub.SUFFIX}"
        size = study.files.size(f"<resources>/downloads/{path}")
        cost.bytes += size or 0
        cost.unsized += size is None
        return kind
    time = timing.job(job)
    cost.seconds += time.core
    cost.gpu_seconds += time.gpu
    # Only long jobs decide whether the total is an estimate.
    cost.measured &= time.measured or (kind != "training" and time.wall < LONG)
    return kind


def _seconds(path: Path) -> float | None:
    """Return the mean seconds of a benchmark over repeats, None if it has none."""
    with path.open(newline="") as file:
        values = [row.get("s") for row in csv.DictReader(file, delimiter="\t")]
    try:
        return mean(float(value) for value in values if value is not None)
    except ValueError:
        return None


def _jobs(counts: Counter[str], of: Counter[str] | None = None) -> str:
    """Format numbers of jobs: `45 jobs: 2 trainings, 12 of 20 regressions`."""
    parts = []
    for kind in dict.fromkeys(kinds().values()):
        if counts[kind]:
            whole = of[kind] if of else counts[kind]
            number = f"{counts[kind]:,} of " if whole != counts[kind] else ""
            parts.append(f"{number}{_format_count(whole, kind)}")
    total = _format_count(counts.total(), "job")
    return f"{total}: {', '.join(parts)}" if parts else total


def _format_count(number: int, what: str) -> str:
    """Format a number and a noun with an optional prepositional phrase: `2 trainings on a GPU`."""
    noun, preposition, rest = re.match(r"(.*?)(?:( on | of )(.*))?$", what).groups("")
    return f"{number:,} {what if number == 1 else f'{noun}s{preposition}{rest}'}"


def duration(seconds: float) -> str:
    """Format a time: 40 s, 12 min, 3.4 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def listed(config: Mapping, all_of_them: bool) -> list[str]:
    """Return the names of the targets whose cost is shown: all of them, or what `run` selects.

    Uploads to the Hub are never planned.
    """
    run = {"all", *config.get("run", ())}
    return [
        target.name
        for target in targets(config)
        if target.kind != "push_<lm>" and (all_of_them or target.name in run)
    ]


WIDTH = 60
"""Maximum width of a padded column, characters."""
LINE = 100
"""Width of the short listing, characters."""


def lines(
    root: Path, configfiles: Sequence[str], entries: Sequence[str], cores: int, everything: bool
) -> list[str]:
    """Return the listing of the study defined by config files and `--config` entries.

    Paths of config files are relative to `root`. Times are for `cores` cores. Without `everything` only
    what `run` selects is planned, and lines have 100 characters; with it, each target, check, export
    and internal rule.
    """
    with opened(root, configfiles, entries) as workflow:
        study = workflow.globals["study"]
        config = study.config
        shown = targets(config)
        by_target = costs(workflow, study, listed(config, everything))
        absent = {name: _absent(study, name) for name in config["experiments"]}
        internal = _internal(workflow.rules, shown) if everything else []
    head = f"study {config['study']}, scale {config['scale']}; remaining jobs, on {cores} cores"
    notes = _notes(by_target.values(), everything)
    if everything:
        return [head, *_table(_rows(shown, by_target, absent, cores)), *internal, *notes]
    notes = [line for note in notes for line in textwrap.wrap(note, LINE)]
    return [head, *_short_table(shown, by_target, absent, cores), *notes]


def plain_lines(config: Mapping) -> list[str]:
    """Return one line per target of a config, without costs, which require Snakemake."""
    return _table(_plain_rows(targets(config)))


def _plain_rows(listed: Sequence[Target]) -> list[tuple[str, str]]:
    """Return name and description of each target, with one row per kind."""
    kinds = {target.kind for target in listed}
    rows = [(target.name, target.line) for target in listed if not target.kind]
    return [*rows, *((kind, line) for kind, line in KINDS.items() if kind in kinds)]


def _rows(
    listed: Sequence[Target], estimates: Mapping[str, Cost], absent: Mapping[str, str], cores: int
) -> list[tuple[str, str, str]]:
    """Return name, description and cost of each target."""
    return [
        (
            target.name,
            target.line,
            estimates[target.name].line(cores) + absent.get(target.name, "")
            if target.name in estimates
            else "",
        )
        for target in listed
    ]


def _short_table(
    listed: Sequence[Target], estimates: Mapping[str, Cost], absent: Mapping[str, str], cores: int
) -> list[str]:
    """Return lines of at most 100 characters: targets with costs, the longer cost below; then all others."""
    first = [target for target in listed if target.name in estimates]
    rest = _plain_rows([target for target in listed if target.name not in estimates])
    width = max(len(name) for name, _ in [*((t.name, "") for t in first), *rest]) + 2
    texts = []
    for target in first:
        texts.append((target.name, target.line))
        texts.append(("", estimates[target.name].line(cores) + absent.get(target.name, "")))
    lines = []
    for name, text in [*texts, *rest]:
        parts = textwrap.wrap(text, LINE - width) or [""]
        lines += [
            f"{head:{width}}{part}".rstrip()
            for head, part in zip([name, *[""] * len(parts)], parts)
        ]
    return lines


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
        notes.append(
            "costs of all targets, checks, exports and rules: ./run --list all; of one: ./run TARGET -n"
        )
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
