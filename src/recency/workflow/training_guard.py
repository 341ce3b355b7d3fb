"""Trainings that a run would do again only because code has changed: not without being asked.

An edit of code that trains makes every LM that it trained out of date, and Snakemake plans to train
them again: right, but days of a GPU. A run therefore stops before it starts, says which LMs and why,
and names the two ways on: train them again, or declare that the edit changes nothing in them. So it
does where a training was stopped half-way and its job, hours into the run, would not go on from that:
of that, too, it may be declared that the edit changes nothing.
"""

import ast
import atexit
import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from recency.networks import states
from recency.workflow.job import code_of

TRAINING = "train"
#: How recency.workflow.code writes a module and its fingerprint.
LINE = re.compile(r"\S+ [0-9a-f]{12}")
#: What a run is asked by these for once, and no command repeats.
ASKED = ("retrain", "resume")
#: What of a recipe is known only with the text, or is no part of what is learned.
OF_THE_TEXT = ("device", "epochs", "steps", "validation")


def check(config: Mapping, workflow) -> None:
    """Raise WorkflowError if a finished LM would be trained again for its code alone, or a half-done one refused.

    `workflow` is Snakemake's, its jobs planned. `retrain: true` in the config allows the one, `resume: true` has
    half-done ones go on by other code. Under
    `--touch`, which declares results to be up to date, their times are kept, so that what was made
    from them stays up to date too.
    """
    from snakemake.exceptions import WorkflowError
    from snakemake.logging import logger

    if workflow.touch:
        _keep_times(workflow)
        return
    found = trained_again(workflow)
    if found and not config.get("retrain", False):
        raise WorkflowError(message(found, _keep(workflow, found)))
    for file, modules in found.values():
        states.declare_again(states.place(Path(file).parent), modules)
    begun = begun_otherwise(workflow.dag.needrun_jobs())
    resumed = config.get("resume", False)
    if refused := {path: b for path, b in begun.items() if not (resumed and b.of_code_alone)}:
        raise WorkflowError(refusal(refused))
    for path, otherwise in begun.items():
        states.declare(path, otherwise.code)
        logger.info(f"{path} goes on, as `resume: true` declares: {', '.join(otherwise.in_short)}")


@dataclass(frozen=True)
class Otherwise:
    """What differs between a state and the training that would go on from it, and the latter's code."""

    lines: list[str]
    code: Mapping[str, str]

    @property
    def of_code_alone(self) -> bool:
        """Whether it was begun by other code, and nothing else differs."""
        return states.of_code_alone(self.lines)

    @property
    def in_short(self) -> list[str]:
        """The modules that differ, without their fingerprints, before what else does."""
        modules = [line.partition(": ")[0][5:] for line in self.lines if line.startswith("code.")]
        rest = [line for line in self.lines if not line.startswith("code.")]
        return [*([f"the code of {', '.join(modules)}"] if modules else []), *rest]


def begun_otherwise(jobs: Iterable) -> dict[Path, Otherwise]:
    """Return the states of planned trainings that their jobs would refuse, and what differs."""
    found = {}
    for job in jobs:
        if job.rule.name == TRAINING:
            path = states.place(Path(job.output[0]).parent)
            if path.exists() and (state := states.unfinished(path)):
                given = dict(job.params.items()) | {"code": code_of(job.params)}
                lines = states.difference(*(_known(each) for each in (state, given)))
                said = states.declared(path, state.get("code", {}), given["code"])
                if lines and not (said and states.of_code_alone(lines)):
                    found[path] = Otherwise(lines, given["code"])
    return dict(sorted(found.items()))


def refusal(found: Mapping[Path, Otherwise]) -> str:
    """Say which states, what differs, and the ways on."""
    which = _together({path: otherwise.in_short for path, otherwise in found.items()})
    many = "a training" if len(found) == 1 else f"{len(found)} trainings"
    remove = shlex.join(["rm", *map(str, found)])
    go_on = "set the config or the code back"
    if all(otherwise.of_code_alone for otherwise in found.values()):
        go_on = (
            "set the code back, or, if the change cannot alter what is trained, type the same command with "
            "--config resume=true"
        )
    return (
        f"nothing was started: {many} would go on from a state of another specification: {which}. "
        f"To train from the start: {remove}. To go on, {go_on}"
    )


def _together(found: Mapping[object, list[str]]) -> str:
    """Name those together of which the same is said: A, B (this, that); C (another)."""
    alike: dict[str, list[str]] = {}
    for name, said in found.items():
        alike.setdefault(", ".join(said), []).append(str(name))
    return "; ".join(f"{', '.join(names)} ({said})" for said, names in alike.items())


def _known(specification: Mapping) -> dict:
    """Return what a plan knows of a specification."""
    kept = {key: specification.get(key) for key in ("architecture", "bias", "seed", "code")}
    recipe = specification["recipe"]
    kept["recipe"] = {key: recipe[key] for key in recipe if key not in OF_THE_TEXT}
    return json.loads(json.dumps(kept))


def trained_again(workflow) -> dict[str, tuple[str, list[str]]]:
    """Return LM → (a file of its checkpoint, the modules that changed) of what would be lost."""
    found, known = {}, {}
    for job in workflow.dag.needrun_jobs():
        finished = job.rule.name == TRAINING and all(map(os.path.exists, job.output))
        if finished and (modules := _only_code(workflow, job, known)):
            found[job.wildcards["lm"]] = (str(job.output[0]), sorted(modules))
    return dict(sorted(found.items()))


def message(found: Mapping[str, tuple[str, list[str]]], keep: str) -> str:
    """Say which LMs, because of which modules, and the two ways on."""
    which = _together({lm: modules for lm, (_, modules) in found.items()})
    many = "a finished LM" if len(found) == 1 else f"{len(found)} finished LMs"
    return (
        f"nothing was started: {many} would be trained again only because code has changed: {which}. "
        "To train again: the same command with --config retrain=true. If the change cannot alter "
        f"what was trained, keep it and what it was made from: {keep}"
    )


def changed_modules(before: Iterable[str], now: Iterable[str]) -> set[str] | None:
    """Return the modules whose fingerprints differ; None if another parameter differs as well.

    `before` and `now` are the parameters of one side alone, as Snakemake keeps them: their repr.
    """
    sides = []
    for side in (before, now):
        lines: set[str] = set()
        for text in side:
            try:
                value = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                return None
            each = value if isinstance(value, list) else [value]
            if not all(isinstance(line, str) and LINE.fullmatch(line) for line in each):
                return None
            lines |= set(each)
        sides.append(lines)
    return {line.split()[0] for line in sides[0] ^ sides[1]}


def _only_code(workflow, job, known: dict) -> set[str] | None:
    """Return the changed modules for which a job is planned, its own and of the jobs before it.

    None if it is planned for another reason: the config, its files, or because it was asked for. A
    file of an earlier step that is missing is no reason: it is made as it was. `known` is what was
    found for other jobs.
    """
    if job not in known:
        known[job] = _own_code(workflow, job)
        for earlier in workflow.dag.dependencies[job]:
            if known[job] is not None and workflow.dag.needrun(earlier):
                modules = _only_code(workflow, earlier, known)
                known[job] = None if modules is None else known[job] | modules
    return known[job]


def _own_code(workflow, job) -> set[str] | None:
    """Return the changed modules of a job's own code; None if it is planned for another reason."""
    reason = workflow.dag.reason(job)
    updated = reason.updated_input - reason.updated_input_run
    if updated or reason.forced or reason.input_changed or reason.software_stack_changed:
        return None
    # Asked for anew: Snakemake doesn't ask for a job whose input is made again.
    changed = workflow.persistence.params_changed(job)
    return changed_modules(changed.only_old, changed.only_new) if changed else set()


def _keep(workflow, found: Mapping[str, tuple[str, list[str]]]) -> str:
    """Return the command that keeps the LMs: this one's config, with --touch."""
    settings = workflow.config_settings
    words = ["./run", *(file for file, _ in found.values()), "--touch"]
    if settings.configfiles:
        words += ["--configfile", *map(os.path.relpath, settings.configfiles)]
    given = [f"{key}={value}" for key, value in settings.config.items() if key not in ASKED]
    if given:
        words += ["--config", *given]
    return shlex.join(words)


def _keep_times(workflow) -> None:
    """Give outputs that --touch declares to be up to date with their code their times back."""
    dag, kept, known = workflow.dag, [], {}
    for level in dag.toposorted():
        for job in filter(dag.needrun, level):
            if _only_code(workflow, job, known) and all(map(os.path.exists, job.output)):
                times = [(Path(file), Path(file).stat().st_mtime_ns) for file in job.output]
                kept.append(([Path(file) for file in job.input], times))
    # Snakemake sets the times when this returns, and has no later hook that knows of this.
    atexit.register(_restore, kept)


def _restore(kept: Iterable[tuple[list[Path], list[tuple[Path, int]]]]) -> None:
    """Set outputs' times, earlier jobs first, but never to before those of their inputs."""
    for inputs, outputs in kept:
        newest = max((path.stat().st_mtime_ns for path in inputs if path.exists()), default=0)
        if newest <= min(time for _, time in outputs):
            for path, time in outputs:
                os.utime(path, ns=(path.stat().st_atime_ns, time))
