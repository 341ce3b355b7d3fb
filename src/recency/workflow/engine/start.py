"""Start and end of a run: check the config, pass mirrors to jobs, report missing data and results.

Clean up after killed runs when a run begins.

`readingtimes.files.atomic` writes `a.parquet` as `.a.<process>.parquet` and renames it. A killed job leaves
this partial file, and its next attempt uses another process number.

Files that a run could not make: of failed jobs, and of regressions none of which could be fitted.

A failed job costs what depends on it. A single failed regression is a result, and the others are compared;
if all failed there is no result.
"""

import csv
import gc
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from snakemake.logging import logger

from recency import plugins
from recency.errors import REFUSALS, InputError, with_page
from recency.evaluations import registry
from recency.networks import hub
from recency.workflow import lint
from recency.workflow.config import checks, loading, strict_yaml
from recency.workflow.engine import (
    machine,
    results_folder,
    run_status,
    snakemake_patches,
    training_guard,
)
from recency.workflow.engine.faults import ConfigError
from recency.workflow.plan import code, cost_model, costs, plan_checks, products, regressions
from recency.workflow.plan.batches import any_of
from recency.workflow.plan.files import HUB
from recency.workflow.plan.study import Study


def is_module(workflow) -> bool:
    """Return whether another workflow uses this one as a module, with its own config."""
    return not workflow.modifier.is_main_snakefile()


def study(config: dict, workflow, root: str | Path) -> Study:
    """Complete and check the config, and return the study; values for reports are added to the config.

    `root` is the project's folder. A module's config is an overlay on config.yaml.
    """
    root = Path(root)
    code.set_untracked_aside()
    # Planning creates millions of permanent objects; collecting cycles would take a third of its time.
    gc.freeze()
    gc.set_threshold(1_000_000, 100, 100)
    try:
        if workflow.is_main_process:
            _read_strictly(root, workflow)
        if is_module(workflow):
            _require_names(workflow)
            config |= loading.merge(strict_yaml.read(root / "config.yaml", "config.yaml"), config)
        renamed = loading.complete(config, root)
        checks.check(config, root / "config.schema.yaml")
        costs.require_distinct(config)
    except REFUSALS as error:
        raise ConfigError(with_page(error, str(error))) from None
    # Mirrors do not affect results, so they are passed to jobs through the environment: as a
    # parameter, a change would rerun every download and all later jobs.
    mirrors = os.environ.get("RECENCY_MIRROR", "").split(os.pathsep)
    mirrors = [*config.get("mirror", []), *filter(None, mirrors)]
    os.environ["RECENCY_MIRROR"] = os.pathsep.join(mirrors)
    # In locale C, R cannot open files in folders with non-ASCII names.
    if _is_c(os.environ):
        os.environ["LC_ALL"] = "C.UTF-8"
    # Snakemake's report uses docutils, which reads its settings from there.
    os.environ["DOCUTILSCONFIG"] = str(root / "workflow" / "report" / "docutils.conf")
    try:
        result = Study(config, root, mirrors, workflow.output_settings.dryrun)
        config |= result.for_report()
        problems = plan_checks.problems(result) if workflow.is_main_process else []
    except REFUSALS as error:
        raise ConfigError(with_page(error, str(error))) from None
    if problems:
        raise ConfigError(checks.listed(problems))
    if workflow.is_main_process:
        for line in [*renamed, *plugins.notices(), *result.left_out()]:
            logger.warning(line)
    return result


def _require_names(workflow) -> None:
    """Refuse renamed rules: targets, experiments and code tracking depend on the names."""
    if (name := workflow.modifier.modify_rulename("words")) != "words":
        raise InputError(
            f"use rule … as …: the rule words would be called {name}, but rules must keep their names; "
            "write `use rule * from …` without `as`"
        )


def _is_c(environment: Mapping[str, str]) -> bool:
    """Return whether child processes would run in locale C, for which Python itself uses UTF-8."""
    names = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next(filter(None, names), "C") in ("C", "POSIX")


def _read_strictly(root: Path, workflow) -> None:
    """Check the config files again: Snakemake drops duplicate keys silently, and may run code."""
    for path in dict.fromkeys([root / "config.yaml", *map(Path, workflow.configfiles)]):
        if path.suffix != ".json" and path.is_file():
            strict_yaml.read(path, os.path.relpath(path))


def wildcards(config: dict) -> dict[str, str]:
    """Return the constraints of the evaluations' wildcards."""
    return {
        wildcard: any_of(config.get(table, {}))
        for evaluation in registry.evaluations().values()
        for wildcard, table in evaluation.wildcards.items()
    }


def rule_files(root: str, config: Mapping) -> list[str]:
    """Return the rule files, including those in evaluations' folders.

    Other packages' are left out unless an experiment has the evaluation, or the config its tables.
    Rules named by the config come last, after all other names are defined.
    """
    files = sorted(Path(root, "rules").glob("*.smk"))
    others = plugins.provided(registry.PACKAGE)
    used = set(config).union(*map(set, config["experiments"].values()))
    folders = [
        registry.folder(name)
        for name in registry.evaluations()
        if name not in others or used & registry.keys_of(name)
    ]
    files += [path for folder in folders if (path := folder / "rules.smk").is_file()]
    return list(map(str, sorted(files, key=lambda path: path.stem == "targets")))


def own_rules(workflow, root: str) -> list:
    """Return the rules of this project, without those of a workflow that uses it as a module."""
    folders = {Path(root), *map(registry.folder, registry.evaluations())}
    return [r for r in workflow.rules if folders & {*Path(str(r.basedir), "_").parents}]


def complete_rules(study: Study, workflow, root: str) -> None:
    """Add code tracking and benchmarks to this project's rules, and check the run's targets.

    The parameters of a rule include the fingerprints of its code, so that edits rerun it; benchmarks
    record times for `./run timings` and the report.
    """
    rules = own_rules(workflow, root)

    def chosen(rule, wildcards):
        return products.chosen(study, rule, wildcards)

    code.track(rules, chosen, memory=Path(".snakemake", "recency-code.json"))
    cost_model.Model(study).request(rules, workflow)
    costs.track(rules)
    snakemake_patches.record_finished_jobs_only()
    results_folder.require_owner(study, workflow)
    keep_handlers(study, workflow)
    say_doubts(study, workflow, require_targets(study, workflow))


def named_files(study: Study) -> str:
    """Return a wildcard constraint for files that are downloaded or supplied by the user."""
    paths = (path.removeprefix("<resources>/downloads/") for path in study.files.described)
    return any_of(paths)


def keep_jobs_offline(study: Study, workflow) -> None:
    """Let jobs open fetched checkpoints, and any attempt to use the Hub fail at once.

    Jobs have these variables from the environment of this process. Those of a workflow that uses
    the project as a module may use the Hub.
    """
    os.environ[hub.FOLDER] = study.resolve(HUB)
    if not is_module(workflow):
        os.environ["HF_HUB_OFFLINE"] = "1"


def require_free_names(study: Study, workflow) -> None:
    """Refuse experiments and targets with the same name as a rule or each other."""
    taken = dict.fromkeys(
        ["all", *(rule.name for rule in workflow.rules)], "a rule of the workflow"
    )
    for table, names in (("experiments", study.config["experiments"]), ("targets", study.targets)):
        for name in names:
            if name in taken:
                raise ConfigError(
                    f"{table} → {name}: {taken[name]} has this name too, so ./run {name} would be ambiguous; "
                    "rename it"
                )
            taken[name] = "an experiment" if table == "experiments" else "a target"


def require_targets(study: Study, workflow) -> list[str] | None:
    """Refuse unknown targets on the command line, with the nearest known one.

    Snakemake would raise a MissingRuleException only after planning all other targets. Returns the
    targets; None without a command line of this workflow's own.
    """
    if (
        not workflow.is_main_process
        or "snakemake" not in Path(sys.argv[0]).parts
        or is_module(workflow)
    ):
        return None  # a job, a program that reads the Snakefile, or a workflow with its own targets
    from snakemake.cli import parse_args

    rules = {rule.name for rule in workflow.rules}
    asked = parse_args(sys.argv[1:])[1].targets
    try:
        costs.require_known(asked, study.config, rules)
    except REFUSALS as error:
        raise ConfigError(str(error)) from None
    return asked


def say_doubts(study: Study, workflow, asked: list[str] | None) -> None:
    """Log a line for each doubtful setting of the experiments that a run makes; `asked` are its targets."""
    if workflow.is_main_process:
        for line in lint.lines(study.doubts_of(costs.experiments(asked or [], study.config))):
            logger.warning(f"doubtful: {line}")


def say_what(study: Study, workflow, logs: Sequence[str]) -> None:
    """Log the jobs of a run and its estimated time on its cores, in one line.

    The logger plugin `recency` reads the run's status from this record. `logs` are Snakemake's.
    """
    cost, jobs = costs.of_run(workflow, study)
    if cost.left:
        status = run_status.RunStatus(
            jobs=jobs,
            cores=workflow.cores or workflow.nodes or 1,
            log=next(iter(logs), ""),
        )
        line = f"To make: {cost.line(workflow.cores or 1)}"
        logger.info(line, extra={"run_status": status})


def begin(study: Study, workflow, logs: Sequence[str]) -> None:
    """Check a run before it starts, clean up after killed runs, and log the run's jobs."""
    require_writable(study)
    training_guard.check(study.config, workflow)
    require_machine(study, workflow)
    machine.require_slurm(workflow)
    machine.end_orphans(workflow)
    if workflow.local_exec:
        # The limit is for a cluster's queue; locally its waiting loop takes 40 % of a core.
        workflow.scheduler.job_rate_limiter = None
        machine.limit_gpus(workflow, cost_model.gpus_here())
    results_folder.open_records(study, workflow)
    tidy(study, workflow)
    say_what(study, workflow, logs)


def keep_handlers(study: Study, workflow) -> None:
    """Run the same handlers in runs of a workflow that uses the project as a module."""
    if is_module(workflow):
        snakemake_patches.set_handlers(
            workflow,
            lambda log: begin(study, workflow, log),
            lambda log: end(study, workflow),
            lambda log: say(workflow, log),
        )


def require_writable(study: Study) -> None:
    """Refuse a run whose results folder is not writable, before Snakemake creates folders."""
    results = Path(study.resolve("<results>")).absolute()
    there = next(path for path in (results, *results.parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        is_fixed = os.statvfs(there).f_flag & os.ST_RDONLY
        why = "on a disk that can only be read" if is_fixed else "not writable for this account"
        way = "" if is_fixed else "grant it write permission, or "
        raise ConfigError(
            f"nothing was started: results go to {results}, but {there} is {why}; {way}link `results` to a "
            "writable folder"
        )


def tidy(study: Study, workflow) -> None:
    """Remove partial files of killed jobs, correct future modification times, and log both."""
    if workflow.touch:
        return
    folders = [*map(study.resolve, ("<results>", "<resources>/downloads"))]
    if future := date_now(folders):
        logger.info(
            f"{future:,} files had modification times in the future (the clock was set back); set to now"
        )
    gone = sweep(folders, here=workflow.local_exec)
    if gone:
        more = f" and {len(gone) - 3:,} more" if len(gone) > 3 else ""
        logger.info(f"Removed partial files of killed jobs: {', '.join(map(str, gone[:3]))}{more}")


def end(study: Study, workflow) -> None:
    """Log the location of results, and fail a run with an experiment without a fit."""
    say_where(study)
    say_warnings(study, workflow.dag_settings.targets)
    require_fits(study, workflow)


def say_where(study: Study) -> None:
    """Log the location of the results in one line, and write the table of timings."""
    results = study.resolve("<results>")
    costs.write(results, study.resolve("<benchmarks>"))
    descriptions = {
        "report.html": "open it in a browser",
        "summary.txt": "summary of the results",
        "experiments": "figures and tables",
        "exports": "for others",
        costs.FILE: "time by kind of job",
    }
    there = [
        f"{name} ({what})" for name, what in descriptions.items() if Path(results, name).exists()
    ]
    if there:
        logger.info(f"In {results}/: {', '.join(there)}")


def say_warnings(study: Study, targets: Iterable[str]) -> None:
    """Log the quality report and the warnings of each dataset that is checked by `check_<dataset>`."""
    for dataset in study.config["datasets"]:
        if f"check_{dataset}" not in targets:
            continue
        folder = Path(study.resolve("<results>"), "datasets", dataset)
        with (folder / "check.csv").open(encoding="utf-8", newline="") as file:
            warnings = [row for row in csv.DictReader(file) if row["kind"] == "warning"]
        plural = "s" * (len(warnings) != 1)
        logger.info(f"{folder / 'check.html'}: {len(warnings) or 'no'} warning{plural}")
        for row in warnings:
            logger.info(f"  {row['measure'] or 'words'}, {row['name']}: {row['value']}")


def require_machine(study: Study, workflow) -> None:
    """Refuse a run whose jobs exceed this machine's resources, with smaller alternatives."""
    config = study.config
    if not config.get("check_machine", True) or not workflow.local_exec or workflow.touch:
        return
    jobs = list(workflow.dag.needrun_jobs())

    def planned(rule: str, wildcard: str) -> list[str]:
        return [job.wildcards[wildcard] for job in jobs if job.rule.name == rule]

    results = study.resolve("<results>")
    fetched = [f"<resources>/downloads/{file}" for file in planned("download", "file")]
    fetched += [f"{HUB}/{name}{hub.SUFFIX}" for name in planned("hub_checkpoint", "checkpoint")]
    trained = planned("train", "lm")
    needed = machine.needs(
        config,
        trained={lm: study.lms[lm]["recipe"] for lm in study.lms if lm in trained},
        unigrams=planned("estimate_ngrams", "unigram"),
        ngram_lms=planned("estimate_ngram_lm", "lm"),
        downloads=[{"bytes": study.files.size(path) or 0} for path in fetched],
        present=machine.used([results, *map(study.resolve, study.files.described)]),
    )
    try:
        machine.check(config, needed, machine.here(results), study.root)
    except REFUSALS as error:
        raise ConfigError(str(error)) from None


NAME = re.compile(r"\..+\.(\d+)(\.\w+)?")
#: Seconds without a change after which a partial file of another machine is stale.
QUIET = 24 * 3600.0
#: Tolerated difference between clocks of machines that share a disk, seconds.
SKEW = 60.0


def sweep(folders: Iterable[str | Path], here: bool) -> list[Path]:
    """Remove partial files of killed jobs below `folders`, and return their paths.

    `here`: jobs run on this machine only, where the process number shows whether one is running;
    otherwise a file must be unchanged for a day.
    """
    gone = []
    for path in _find_partial_files(folders):
        try:
            left = _has_ended(path) if here else time.time() - path.lstat().st_mtime > QUIET
            if left:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                gone.append(path)
        except OSError:  # no write permission; jobs that need it fail
            continue
    return gone


def date_now(folders: Iterable[str | Path]) -> int:
    """Set future modification times (after a change of the clock) to now; return the number of files.

    Otherwise Snakemake would treat outputs as older than their inputs, and stop.
    """
    now, count = time.time(), 0
    for folder in folders:
        for where, _, files in os.walk(folder):
            for name in files:
                path = Path(where, name)
                try:
                    if path.lstat().st_mtime > now + SKEW:
                        os.utime(path, (now, now), follow_symlinks=False)
                        count += 1
                except OSError:  # removed, or another account's
                    continue
    return count


def _find_partial_files(folders: Iterable[str | Path]) -> Iterator[Path]:
    """Yield files and folders with names of partial files."""
    for folder in folders:
        for where, inner, files in os.walk(folder):
            for name in [*inner, *files]:
                if NAME.fullmatch(name):
                    yield Path(where, name)
            inner[:] = [name for name in inner if not NAME.fullmatch(name)]


def _has_ended(path: Path) -> bool:
    """Return whether the process in a partial file's name has ended."""
    try:
        os.kill(int(NAME.fullmatch(path.name)[1]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False


#: Signal → the most likely reason that a job was killed.
SIGNALS = {
    "SIGKILL": "memory ran out, or a user killed it; use fewer --cores to run fewer jobs in parallel",
    "SIGABRT": "a library aborted, most often for lack of memory; see its last message above",
    "SIGBUS": "the disk is full, or a file was changed while it was read",
    "": "a user or the system killed it, or a library crashed; see its log, named above",
}
GO_ON = "Completed jobs are kept; repeat the command to continue"
MOST = 10  # maximum number of failed jobs that a line names


def require_fits(study: Study, workflow) -> None:
    """Raise ConfigError if all regressions of one of the run's experiments failed."""
    asked = dict.fromkeys(job.wildcards_dict.get("experiment") for job in workflow.dag.jobs)
    failed = {name: reason for name in asked if name and (reason := reason_of(study, name))}
    if failed:
        listed = "; ".join(f"experiments → {name}: {reason}" for name, reason in failed.items())
        raise ConfigError(f"all regressions failed in {listed}")


def reason_of(study: Study, experiment: str) -> str:
    """Return the first regression's error if all of an experiment failed, else ""."""
    if not study.all_responses(experiment):
        return ""
    paths = map(Path, map(study.resolve, regressions.fits(study, experiment)))
    first = ""
    for path in dict.fromkeys(paths):
        if not path.exists():
            continue
        fit = json.loads(path.read_text())
        if fit["loglik"]["fit"] is not None:
            return ""
        first = first or fit["note"] or "unknown reason"
    return first


def say(workflow, logs: Iterable[str]) -> None:
    """Log what a failed run has not made, why, and how to continue; `logs` are Snakemake's."""
    say_why(logs)
    for line in lines(workflow):
        logger.error(line)


def say_why(logs: Iterable[str]) -> None:
    """Log why jobs were probably killed, which they cannot log, and how to continue."""
    text = "".join(Path(log).read_text(errors="replace") for log in logs if Path(log).exists())
    for name in sorted(set(re.findall(r"died with <Signals\.(\w+)", text))):
        logger.error(f"A job was killed by {name}: {SIGNALS.get(name, SIGNALS[''])}. {GO_ON}")


def lines(workflow) -> list[str]:
    """Return what finally failed jobs cost: experiments and targets that lack files because of them.

    Where only datasets' files can be at fault, a second line names the setting that goes on without them.
    """
    if workflow.scheduler is None:  # the run ended before its first job
        return []
    failed = sorted(workflow.scheduler.failed, key=str)
    above = [[job, *_dependent(workflow.dag, job)] for job in failed]
    if not failed:
        return []
    jobs = {job for some in above for job in some}
    lost = {job.wildcards_dict.get("experiment") for job in jobs} - {None}
    lost |= {job.rule.name for job in jobs} & set(workflow.dag_settings.targets)
    names = [" ".join([job.rule.name, *map(str, job.wildcards)]) for job in failed]
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    costs = f". Not all is made of: {', '.join(sorted(lost))}" if lost else ""
    result = [f"Failed: {', '.join(names[:MOST])}{more}{costs}"]
    if datasets := sorted(filter(None, set(map(_dataset, above)))):
        result.append(
            f"To make the rest without {' and '.join(datasets)}, named as not run in the results, repeat the "
            f"command with --config leave_out=[{','.join(datasets)}]"
        )
    return result


def _dependent(dag, job) -> list:
    """Return the jobs that depend on a job, the nearest first."""
    found, seen = [job], {job}
    for one in found:
        new = [other for other in dag.depending[one] if other not in seen]
        seen.update(new)
        found += sorted(new, key=str)
    return found[1:]


def _dataset(jobs: list) -> str | None:
    """Return the dataset of the first job that has one; None if that is a job on an LM."""
    of = next((j.wildcards_dict for j in jobs if j.wildcards_dict.keys() & {"dataset", "lm"}), {})
    return None if "lm" in of else of.get("dataset")
