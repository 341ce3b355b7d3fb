"""Remaining cost of each target of a study: jobs by kind, downloads, and hours on this machine.

Snakemake plans all targets at once; the cost of a target is that of the jobs it depends on. Hours are
computed from benchmarks of finished jobs in the study's results, or, without benchmarks, from the
constants below; the latter are marked as estimates.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import mean

from recency import config as configuration
from recency.evaluations import registry
from recency.networks import hub
from recency.workflow import batches, snakemake_patches, stored_parts
from recency.workflow.targets import targets

FLOPS = {"fp32": 1.5e11, "bf16": 3e11}
"""Floating-point operations per second and core of a training (docs/scaling.md)."""
START = 2.0
"""Core seconds in which a job starts and imports its modules."""
SECONDS = {"regression": 3.0, "surprisal": 10.0, "other": 5.0}
"""Core seconds of a fit, of scoring a dataset, and of other jobs, without benchmarks."""
LONG = 8 * 60
"""Requested minutes of a rule from which the time of a job without a benchmark is unknown."""
KINDS = {
    "train": "training",
    "surprisal": "surprisal",
    "surprisal_table": "surprisal",
    "ngram_surprisal": "surprisal",
    "frequency_surprisal": "surprisal",
    "ngram_lm_surprisal": "surprisal",
    "mix_surprisal": "surprisal",
    "regression": "regression",
    "nested_regression": "regression",
    "crossed_bootstrap": "crossed bootstrap",
}
"""Rule → the kind of job that is counted separately; evaluations add their own (`jobs`)."""


@cache
def kinds() -> dict[str, tuple[str, float]]:
    """Return rule → the kind of job that is counted separately, and its core seconds without benchmarks."""
    counted = {rule: (kind, SECONDS.get(kind, SECONDS["other"])) for rule, kind in KINDS.items()}
    for evaluation in registry.evaluations().values():
        counted |= evaluation.jobs
    return counted | dict.fromkeys(("download", "hub_checkpoint"), ("download", 0.0))


@dataclass
class Cost:
    """Cost of a target: all and remaining jobs by kind, core seconds, bytes to download.

    `unsized`: downloads whose server states no size; `measured`: whether times of trainings and regressions are from benchmarks; `unknown`: number of
    possibly long jobs without a benchmark; `unplanned`: the reason if the target cannot be planned.
    """

    all: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    measured: bool = True
    unknown: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    unsized: int = 0
    unplanned: str = ""

    def line(self, cores: int) -> str:
        """Return the cost in words, with the time on this many cores."""
        if self.unplanned:
            return f"no plan: {self.unplanned}"
        if not self.left:
            return f"made ({_jobs(self.all)})"
        fetched = f", {self.bytes / 1e9:,.2g} GB to fetch" if self.bytes >= 5e6 else ""
        if self.unsized:
            fetched += (
                f"{' and' if fetched else ','} {_counted(self.unsized, 'file')} of unknown size"
            )
        return f"{_jobs(self.left, self.all)}{fetched}; {self._time(cores)}"

    def _time(self, cores: int) -> str:
        about = "" if self.measured else "estimated "
        text = f"{about}{duration(self.seconds / cores)}"
        if not self.unknown:
            return text
        what = ", ".join(_counted(number, name) for name, number in self.unknown.items())
        return f"{text} and {what} of unknown time"


@dataclass
class Timing:
    """Times of jobs, from benchmarks of finished ones, stored parts and the config."""

    config: Mapping
    benchmarks: Path
    results: Path

    def __post_init__(self):
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

    def part(self, kind: str, folder: Path) -> tuple[float, bool]:
        """Return core seconds of a fit or of scoring a dataset, and whether they were measured.

        They are averages over finished ones in the same `folder`, else over all of the kind.
        """
        if kind not in self._parts:
            folders = sorted((self.results / kind).rglob(stored_parts.FOLDER))
            self._parts[kind] = {path.parent: stored_parts.seconds(path.parent) for path in folders}
        by_folder = self._parts[kind]
        every = [second for times in by_folder.values() for second in times]
        if alike := by_folder.get(folder, []):
            return mean(alike), True
        return (mean(every), False) if every else (SECONDS[kind], False)

    def training(self, lm: str) -> tuple[float | None, bool]:
        """Return core seconds of a training (None if unknown) and whether they were measured."""
        threads = self.config["threads"]["train"]
        finished = self.of_rule("train")
        if lm in finished:
            return finished[lm] * threads, True
        work = self.operations(lm)
        timed = {name: self.operations(name) for name in finished if name in self.config["lms"]}
        rates = [
            timed[name] / finished[name] for name in timed if timed[name] and self._alike(name, lm)
        ]
        if work and rates:
            return work / mean(rates) * threads, True
        recipe = self._recipe(lm)
        if work is None or recipe["device"] == "cuda":
            return None, False
        return work / FLOPS[recipe["precision"]], False

    def operations(self, lm: str) -> float | None:
        """Return the operations of a training: 6 per parameter and token; None if tokens are unknown."""
        settings, config = configuration.language_model(self.config, lm), self.config
        recipe, network = self._recipe(lm), config["architectures"][settings["architecture"]]
        if "steps" in recipe:
            tokens = recipe["steps"] * recipe["batch_sequences"] * recipe["sequence_length"]
        else:
            tokens = recipe["epochs"] * self._tokens(settings)
        vocabulary = config["tokenizers"][settings["tokenizer"]].get("vocabulary", 50_000)
        width = network.get("width", 0)
        parameters = 12 * network.get("layers", 1) * width**2 + 2 * vocabulary * width
        return 6.0 * parameters * tokens or None

    def _tokens(self, settings: Mapping) -> float:
        """Return the number of tokens of an LM's text: counted, or from the corpus's `words`."""
        corpus, tokenizer = settings["corpus"], settings["tokenizer"]
        info = self.results / "corpora" / corpus / "tokens" / f"{tokenizer}.json"
        if info.exists():
            return json.loads(info.read_text())["tokens"]
        words = str(self.config["corpora"][corpus].get("words", ""))
        size = {"K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9}.get(words[-1:].upper(), 0)
        return 1.3 * float(words[:-1]) * size if size else 0.0

    def named(self, lm: str) -> str:
        """Return the kind of a training by device."""
        return "training on a GPU" if self._recipe(lm)["device"] == "cuda" else "training"

    def _recipe(self, lm: str) -> Mapping:
        return self.config["recipes"][configuration.language_model(self.config, lm)["recipe"]]

    def _alike(self, one: str, other: str) -> bool:
        keys = ("device", "precision")
        return all(self._recipe(one)[key] == self._recipe(other)[key] for key in keys)


def costs(workflow, study, names: Iterable[str]) -> dict[str, Cost]:
    """Plan the targets `names`; return name → cost.

    `workflow` is Snakemake's after reading the Snakefile. If the targets cannot be planned together
    they are planned one by one, and failures are stored in `unplanned`.
    """
    from snakemake.exceptions import RuleException, WorkflowError

    names = list(names)
    timing = _timing(study)
    errors = (WorkflowError, RuleException, OSError)
    try:
        return _planned(workflow, study, timing, names)
    except errors as error:
        if len(names) == 1:
            return {names[0]: Cost(unplanned=_short(error))}
    by_target = {}
    for name in names:
        try:
            by_target |= _planned(workflow, study, timing, [name])
        except errors as error:
            by_target[name] = Cost(unplanned=_short(error))
    return by_target


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) < 120 else f"{text[:119]}…"


def _planned(workflow, study, timing: Timing, names: Sequence[str]) -> dict[str, Cost]:
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
    return Timing(study.config, Path(benchmarks), Path(results))


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
    kind, _ = kinds().get(batches.kind_of(job.rule.name), ("other", 0.0))
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
    seconds, measured = _of_job(kind, job, timing)
    if seconds is None:
        what = (
            timing.named(job.wildcards.lm)
            if kind == "training"
            else f"job of {batches.kind_of(job.rule.name)}"
        )
        cost.unknown[what] += 1
    cost.seconds += seconds or 0.0
    # Only long jobs decide whether the total is an estimate.
    cost.measured &= measured or kind not in ("training", "regression")
    return kind


def _of_job(kind: str, job, timing: Timing) -> tuple[float | None, bool]:
    """Return the core seconds of a job (None if unknown) and whether they were measured."""
    if kind == "training":
        return timing.training(job.wildcards.lm)
    if (what := batches.kind_of(job.rule.name)) in ("regression", "surprisal"):
        return _of_parts(what, job, timing)
    if finished := timing.of_rule(job.rule.name):
        return mean(finished.values()), True
    if kind == "other" and job.resources.get("runtime", 0) >= LONG:
        return None, False
    _, seconds = kinds().get(batches.kind_of(job.rule.name), (kind, SECONDS["other"]))
    return seconds, False


def _of_parts(what: str, job, timing: Timing) -> tuple[float, bool]:
    """Return the core seconds of the missing parts of a job, or of all parts if none is missing."""
    endings = {"regression": ".json", "surprisal": ".parquet"}
    files = [Path(path) for path in job.output if path.endswith(endings[what])]
    left = [path for path in files if not path.exists()] or files
    estimates = [timing.part(what, path.parent) for path in left]
    return START + sum(seconds for seconds, _ in estimates), all(
        measured for _, measured in estimates
    )


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
    for kind in dict.fromkeys(kind for kind, _ in kinds().values()):
        if counts[kind]:
            whole = of[kind] if of else counts[kind]
            number = f"{counts[kind]:,} of " if whole != counts[kind] else ""
            parts.append(f"{number}{_counted(whole, kind)}")
    total = _counted(counts.total(), "job")
    return f"{total}: {', '.join(parts)}" if parts else total


def _counted(number: int, what: str) -> str:
    """Format a number and a noun with an optional prepositional phrase: `2 trainings on a GPU`."""
    noun, preposition, rest = re.match(r"(.*?)(?:( on | of )(.*))?$", what).groups("")
    return f"{number:,} {what if number == 1 else f'{noun}s{preposition}{rest}'}"


def duration(seconds: float) -> str:
    """Format a time: 40 s, 12 min, 3.4 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def listed(config: Mapping, all_of_them: bool) -> list[str]:
    """Return the names of the targets whose cost is shown, including kinds if `all_of_them`.

    Uploads to the Hub are never planned.
    """
    return [
        target.name
        for target in targets(config)
        if target.kind != "push_<lm>" and (all_of_them or not target.kind)
    ]
