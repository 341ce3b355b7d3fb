"""How a run begins: the config is checked, mirrors are passed to jobs, absent data are named at once."""

import gc
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from snakemake.logging import logger

from recency.errors import InputError
from recency.evaluations import registry
from recency.workflow import (
    checks,
    cluster,
    code,
    costs,
    failed,
    failure_notice,
    installed,
    leftovers,
    loading,
    machine,
    notices,
    plan_checks,
    products,
    run_status,
    snakemake_patches,
    strict_yaml,
    targets,
    timings,
    training_guard,
)
from recency.workflow.constraints import any_of
from recency.workflow.faults import ConfigError
from recency.workflow.study import Study

#: What it most often means that a signal ended a job.
SIGNALS = {
    "SIGKILL": "memory ran out, or someone killed it; fewer --cores run fewer jobs side by side",
    "SIGABRT": "a library gave up, most often for want of memory; its last words are above",
    "SIGBUS": "the disk is full, or a file was changed while it was read",
    "": "someone, or the system, ended it, or a library crashed; its log is named above",
}
GO_ON = "What is complete stays, and the same command goes on from there"


def is_module(workflow) -> bool:
    """Say whether another workflow has this one as a module, with a config of its own."""
    return not workflow.modifier.is_main_snakefile()


def study(config: dict, workflow, root: str | Path) -> Study:
    """Complete and check the config, and return the study; the config gets what reports read.

    `root` is the project's folder. A module's config lies over config.yaml, as an overlay does.
    """
    root = Path(root)
    # A plan makes millions of objects and drops few: to search them for cycles is a third of its time.
    gc.freeze()
    gc.set_threshold(1_000_000, 100, 100)
    try:
        if workflow.is_main_process:
            _read_strictly(root, workflow)
        if is_module(workflow):
            _require_names(workflow)
            config |= loading.merge(strict_yaml.read(root / "config.yaml", "config.yaml"), config)
        loading.complete(config, root)
        checks.check(config, root / "config.schema.yaml")
        targets.require_distinct(config)
    except InputError as error:
        raise ConfigError(str(error)) from None
    # Where files come from is no part of what is computed, so it reaches jobs through the
    # environment: as a parameter it would make every download, and all that follows, run again.
    mirrors = os.environ.get("RECENCY_MIRROR", "").split(":")
    mirrors = [*config.get("mirror", []), *filter(None, mirrors)]
    os.environ["RECENCY_MIRROR"] = ":".join(mirrors)
    # In locale C, R finds no file below a folder whose name is not ASCII.
    if _is_c(os.environ):
        os.environ["LC_ALL"] = "C.UTF-8"
    # Snakemake's own report is rendered with docutils, which reads its settings from there.
    os.environ["DOCUTILSCONFIG"] = str(root / "workflow" / "report" / "docutils.conf")
    try:
        found = Study(config, root, mirrors, workflow.output_settings.dryrun)
        config |= found.for_report()
        problems = plan_checks.problems(found) if workflow.is_main_process else []
    except InputError as error:
        raise ConfigError(str(error)) from None
    if problems:
        raise ConfigError(checks.listed(problems))
    if workflow.is_main_process:
        for line in [*found.left_out(), *notices.of_predictors(config)]:
            logger.warning(line)
    return found


def _require_names(workflow) -> None:
    """Refuse rules of other names: targets, experiments and what an edit reruns go by the rules' own."""
    if (name := workflow.modifier.modify_rulename("words")) != "words":
        raise InputError(
            f"use rule … as …: the rule words would be called {name}, and rules keep their names here; "
            "write `use rule * from …` without `as`"
        )


def _is_c(environment: Mapping[str, str]) -> bool:
    """Say whether what is started here would be in locale C; Python itself takes UTF-8 for it."""
    names = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next(filter(None, names), "C") in ("C", "POSIX")


def _read_strictly(root: Path, workflow) -> None:
    """Read the files that Snakemake has read again: it drops keys in silence, and may run code."""
    for path in dict.fromkeys([root / "config.yaml", *map(Path, workflow.configfiles)]):
        if path.suffix != ".json" and path.is_file():
            strict_yaml.read(path, os.path.relpath(path))


def wildcards(config: dict) -> dict[str, str]:
    """Return the constraints of the wildcards that evaluations have of their own."""
    return {
        wildcard: any_of(config.get(table, {}))
        for evaluation in registry.evaluations().values()
        for wildcard, table in evaluation.wildcards.items()
    }


def rule_files(root: str) -> list[str]:
    """Return the files of rules, those of evaluations' folders too.

    The rules that are named by the config come last, when all names are taken.
    """
    files = sorted(Path(root, "rules").glob("*.smk"))
    folders = map(registry.folder, registry.evaluations())
    files += [path for folder in folders if (path := folder / "rules.smk").is_file()]
    return list(map(str, sorted(files, key=lambda path: path.stem == "targets")))


def own_rules(workflow, root: str) -> list:
    """Return the rules of this project: another workflow that has it as a module has rules of its own."""
    folders = {Path(root), *map(registry.folder, registry.evaluations())}
    return [r for r in workflow.rules if folders & {*Path(str(r.basedir), "_").parents}]


def complete_rules(study: Study, workflow, root: str) -> None:
    """Give this project's rules their code and times, and check the run's targets.

    A rule's parameters hold the fingerprints of its code, so that an edit reruns it; how long each job
    takes is kept for `./run timings` and the report.
    """
    own = own_rules(workflow, root)

    def chosen(rule, wildcards):
        return products.chosen(study, rule, wildcards)

    code.track(own, chosen, memory=Path(".snakemake", "recency-code.json"))
    timings.track(own)
    snakemake_patches.record_finished_jobs_only()
    keep_handlers(study, workflow)
    require_targets(study, workflow)


def named_files(study: Study) -> str:
    """Return a wildcard constraint that admits the files that are downloaded or placed."""
    paths = (path.removeprefix("<resources>/downloads/") for path in study.files.known)
    return any_of(paths)


def require_free_names(study: Study, workflow) -> None:
    """Refuse an experiment or a target that is called as a rule is, or as each other."""
    taken = dict.fromkeys(
        ["all", *(rule.name for rule in workflow.rules)], "a rule of the workflow"
    )
    for table, names in (("experiments", study.config["experiments"]), ("targets", study.targets)):
        for name in names:
            if name in taken:
                raise ConfigError(
                    f"{table} → {name}: {taken[name]} has this name, too, and ./run {name} would be either; "
                    "call it something else"
                )
            taken[name] = "an experiment" if table == "experiments" else "a target"


def require_targets(study: Study, workflow) -> None:
    """Refuse a name among the command line's targets that nothing is called, with the nearest one.

    Snakemake itself would end with a MissingRuleException once it has planned all other targets.
    """
    if (
        not workflow.is_main_process
        or "snakemake" not in Path(sys.argv[0]).parts
        or is_module(workflow)
    ):
        return  # a job, a program that reads the Snakefile, or another workflow, with targets of its own
    from snakemake.cli import parse_args

    rules = {rule.name for rule in workflow.rules}
    try:
        targets.require_known(parse_args(sys.argv[1:])[1].targets, study.config, rules)
    except InputError as error:
        raise ConfigError(str(error)) from None


def say_what(study: Study, workflow, logs: Sequence[str]) -> None:
    """Say in a line what a run is about to make, and about how long that takes on its cores.

    Snakemake's `--logger recency` takes the run's status from this record. `logs` are Snakemake's.
    """
    cost, jobs = costs.of_run(workflow, study)
    if cost.left:
        status = run_status.RunStatus(
            results=Path(study.place("<results>")),
            study=f"study {study.config['study']}, scale {study.config['scale']}",
            jobs=jobs,
            cores=workflow.cores or workflow.nodes or 1,
            log=next(iter(logs), ""),
        )
        line = f"To make: {cost.line(workflow.cores or 1)}"
        logger.info(line, extra={"run_status": status})


def begin(study: Study, workflow, logs: Sequence[str]) -> None:
    """Refuse a run that cannot end well, end and remove what killed ones left, say what is made."""
    require_writable(study)
    training_guard.check(study.config, workflow)
    require_machine(study, workflow)
    if _samples_here(workflow):
        installed.require_brms()
    cluster.end_orphans(workflow)
    if workflow.local_exec:
        # The limit is for a cluster's queue; here, waiting for it takes two fifths of a core.
        workflow.scheduler.job_rate_limiter = None
    failure_notice.watch(workflow)
    tidy(study, workflow)
    say_what(study, workflow, logs)


def keep_handlers(study: Study, workflow) -> None:
    """Have a module's runs begin and end as the project's own do."""
    if is_module(workflow):
        snakemake_patches.set_handlers(
            workflow,
            lambda log: begin(study, workflow, log),
            lambda log: end(study, workflow),
            say_why,
        )


def require_writable(study: Study) -> None:
    """Refuse a run whose results could not be written, before Snakemake makes their folders."""
    results = Path(study.place("<results>")).absolute()
    there = next(path for path in (results, *results.parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise ConfigError(
            f"nothing was started: results go to {results}, and {there} can only be read, by this account or "
            "at all; give it the right to write there, or link `results` to a folder where it may"
        )


def tidy(study: Study, workflow) -> None:
    """Remove what killed jobs left half written, date what is of the future, and say so."""
    if workflow.touch:
        return
    folders = [*map(study.place, ("<results>", "<resources>/downloads"))]
    if future := leftovers.date_now(folders):
        logger.info(
            f"{future:,} files were dated later than now (the clock was set back): dated now"
        )
    gone = leftovers.sweep(folders, here=workflow.local_exec)
    if gone:
        more = f" and {len(gone) - 3:,} more" if len(gone) > 3 else ""
        logger.info(
            f"Left half written by killed jobs, removed: {', '.join(map(str, gone[:3]))}{more}"
        )


def say_why(logs: Iterable[str]) -> None:
    """Say of jobs that a signal ended what that most often means, and how to go on.

    `logs` are Snakemake's of this run. Such a job could say nothing itself.
    """
    text = "".join(Path(log).read_text(errors="replace") for log in logs if Path(log).exists())
    for name in sorted(set(re.findall(r"died with <Signals\.(\w+)", text))):
        logger.error(f"A job was ended by {name}: {SIGNALS.get(name, SIGNALS[''])}. {GO_ON}")


def end(study: Study, workflow) -> None:
    """Say where results are, and fail a run of which an experiment has no fit."""
    say_where(study)
    failed.require_fits(study, workflow)


def say_where(study: Study) -> None:
    """Say in a line where what a run has made can be looked at, and write where its time went."""
    results = study.place("<results>")
    timings.write(results, study.place("<benchmarks>"))
    known = {
        "report.html": "open it in a browser",
        run_status.PAGE: "the run itself",
        "summary.txt": "what was found, in short",
        "experiments": "figures and tables",
        "exports": "for others",
        timings.FILE: "where the time went",
    }
    there = [f"{name} ({what})" for name, what in known.items() if Path(results, name).exists()]
    if there:
        logger.info(f"In {results}/: {', '.join(there)}")


def _samples_here(workflow) -> bool:
    """Say whether brms is to fit a model on this machine, by the R that is on the PATH."""
    if not workflow.local_exec or workflow.touch or workflow.deployment_settings.deployment_method:
        return False
    return any(job.rule.name == "bayesian_regression" for job in workflow.dag.needrun_jobs())


def require_machine(study: Study, workflow) -> None:
    """Refuse a run whose planned jobs need more than this machine has, with what else it can do."""
    config = study.config
    if not config.get("check_machine", True) or not workflow.local_exec or workflow.touch:
        return
    jobs = list(workflow.dag.needrun_jobs())

    def planned(rule: str, wildcard: str) -> list[str]:
        return [job.wildcards[wildcard] for job in jobs if job.rule.name == rule]

    results = study.place("<results>")
    known = study.files.known
    trained = planned("train", "lm")
    needed = machine.needs(
        config,
        trained={lm: study.lms[lm]["recipe"] for lm in study.lms if lm in trained},
        unigrams=planned("estimate_ngrams", "unigram"),
        ngram_lms=planned("estimate_ngram_lm", "lm"),
        downloads=[known[f"<resources>/downloads/{file}"] for file in planned("download", "file")],
        present=machine.used([results, *map(study.place, known)]),
    )
    try:
        machine.check(config, needed, machine.here(results), study.root)
    except InputError as error:
        raise ConfigError(str(error)) from None
