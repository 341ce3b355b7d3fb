"""Guard against repeated trainings: a change in code alone does not retrain LMs without consent.

After an edit of training code, Snakemake plans to retrain every LM, which can take days. A run
therefore stops before it starts, lists the LMs and the changed modules, and offers two options: retrain
them, or declare that the edit does not affect them. The same holds for interrupted trainings, whose
stored state a job would otherwise refuse hours into the run.
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
from recency.workflow.engine.job import code_of

TRAINING = "train"
#: Name of the files of passages (recency.passages).
PASSAGES = "passages.npz"
#: Module and fingerprint as written by recency.workflow.plan.code.
LINE = re.compile(r"\S+ [0-9a-f]{12}")
#: Options that are given once, and that suggested commands omit.
ASKED = ("retrain", "resume", "adopt")
#: Keys of a specification that are known only with the text, or do not affect the weights.
OF_THE_TEXT = ("device", "epochs", "steps", "validation")


def check(config: Mapping, workflow) -> None:
    """Raise WorkflowError if a change in code alone would retrain an LM or refuse a stored state.

    `workflow` is Snakemake's after planning. `retrain: true` in the config permits retraining,
    `resume: true` continues stored states with changed code. Under `--touch`, which declares results
    up to date, modification times are kept, so that later results stay up to date too.
    """
    from snakemake.exceptions import WorkflowError
    from snakemake.logging import logger

    if workflow.touch:
        _keep_times(workflow)
        return
    lost = trained_again(workflow)
    if lost and not config.get("retrain", False):
        raise WorkflowError(message(lost, _keep(workflow, lost)))
    for file, modules in lost.values():
        states.declare_retraining(states.state_path(Path(file).parent), modules)
    begun = begun_otherwise(workflow.dag.needrun_jobs())
    resumed = config.get("resume", False)
    if refused := {path: b for path, b in begun.items() if not (resumed and b.differ_in_code_only)}:
        raise WorkflowError(refusal(refused))
    for path, otherwise in begun.items():
        states.declare(path, otherwise.code)
        logger.info(
            f"{path} is continued (`resume: true`) despite changes: {', '.join(otherwise.in_short)}"
        )


@dataclass(frozen=True)
class Otherwise:
    """Differences between a stored state and the training that would continue it."""

    lines: list[str]
    code: Mapping[str, str]

    @property
    def differ_in_code_only(self) -> bool:
        """Whether only the code differs."""
        return states.differ_in_code_only(self.lines)

    @property
    def in_short(self) -> list[str]:
        """The modules that differ, without fingerprints, and then other differences."""
        modules = [line.partition(": ")[0][5:] for line in self.lines if line.startswith("code.")]
        rest = [line for line in self.lines if not line.startswith("code.")]
        return [*([f"the code of {', '.join(modules)}"] if modules else []), *rest]


def begun_otherwise(jobs: Iterable) -> dict[Path, Otherwise]:
    """Return state → differences, for stored states that planned trainings would refuse."""
    by_state = {}
    for job in jobs:
        if job.rule.name == TRAINING:
            path = states.state_path(Path(job.output[0]).parent)
            if path.exists() and (state := states.unfinished(path)):
                given = dict(job.params.items()) | {"code": code_of(job.params)}
                lines = states.difference(
                    *(_known_part(specification) for specification in (state, given))
                )
                is_declared = states.is_declared(path, state.get("code", {}), given["code"])
                if lines and not (is_declared and states.differ_in_code_only(lines)):
                    by_state[path] = Otherwise(lines, given["code"])
    return dict(sorted(by_state.items()))


def refusal(states: Mapping[Path, Otherwise]) -> str:
    """Return the message: states, differences and ways to continue."""
    which = _together({path: otherwise.in_short for path, otherwise in states.items()})
    many = "a training" if len(states) == 1 else f"{len(states)} trainings"
    remove = shlex.join(["rm", *map(str, states)])
    go_on = "restore the config or the code"
    if all(otherwise.differ_in_code_only for otherwise in states.values()):
        go_on = (
            "restore the code, or, if the change does not affect the weights, repeat the command with "
            "--config resume=true"
        )
    return (
        f"nothing was started: {many} would continue from a state with another specification: {which}. "
        f"To train from the start: {remove}. To continue, {go_on}"
    )


def _together(groups: Mapping[object, list[str]]) -> str:
    """Format items grouped by their values: A, B (this, that); C (another)."""
    alike: dict[str, list[str]] = {}
    for name, values in groups.items():
        alike.setdefault(", ".join(values), []).append(str(name))
    return "; ".join(f"{', '.join(names)} ({values})" for values, names in alike.items())


def _known_part(specification: Mapping) -> dict:
    """Return the part of a specification that is known during planning."""
    kept = {key: specification.get(key) for key in ("architecture", "bias", "seed", "code")}
    recipe = specification["recipe"]
    kept["recipe"] = {key: recipe[key] for key in recipe if key not in OF_THE_TEXT}
    return json.loads(json.dumps(kept))


def trained_again(workflow) -> dict[str, tuple[str, list[str]]]:
    """Return LM → (a file of its checkpoint, changed modules), for LMs that would be lost."""
    lost, checked = {}, {}
    for job in workflow.dag.needrun_jobs():
        finished = job.rule.name == TRAINING and all(map(os.path.exists, job.output))
        if finished and (modules := _only_code(workflow, job, checked)):
            lost[job.wildcards["lm"]] = (str(job.output[0]), sorted(modules))
    return dict(sorted(lost.items()))


def message(refused: Mapping[str, tuple[str, list[str]]], keep: str) -> str:
    """Return the message: LMs, changed modules, and both options."""
    which = _together({lm: modules for lm, (_, modules) in refused.items()})
    many = "a finished LM" if len(refused) == 1 else f"{len(refused)} finished LMs"
    return (
        f"nothing was started: {many} would be trained again only because code has changed: {which}. "
        "To train again: the same command with --config retrain=true. If the change does not affect "
        f"the weights, keep the LMs and their inputs: {keep}"
    )


def changed_modules(before: Iterable[str], now: Iterable[str]) -> set[str] | None:
    """Return the modules whose fingerprints differ; None if another parameter differs as well.

    `before` and `now` are the parameters of only one side, in Snakemake's representation (repr).
    """
    sides = []
    for side in (before, now):
        lines: set[str] = set()
        for text in side:
            try:
                value = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                return None
            values = value if isinstance(value, list) else [value]
            if not all(isinstance(line, str) and LINE.fullmatch(line) for line in values):
                return None
            lines |= set(values)
        sides.append(lines)
    return {line.split()[0] for line in sides[0] ^ sides[1]}


def _only_code(workflow, job, results: dict) -> set[str] | None:
    """Return the changed modules for which a job is planned, including those of earlier jobs.

    None if it is planned for another reason: the config, its files, or on request. A missing
    intermediate file is not a reason, because it is made as before. `results` caches results for other
    jobs.
    """
    if job not in results:
        results[job] = _own_code(workflow, job)
        for earlier in workflow.dag.dependencies[job]:
            if results[job] is not None and workflow.dag.needrun(earlier):
                modules = _only_code(workflow, earlier, results)
                results[job] = None if modules is None else results[job] | modules
    return results[job]


def _own_code(workflow, job) -> set[str] | None:
    """Return the changed modules of a job's own code, None if it is planned for another reason."""
    reason = workflow.dag.reason(job)
    updated = reason.updated_input - reason.updated_input_run
    other_files = reason.input_changed and not _only_passages(workflow, job)
    if updated or reason.forced or other_files or reason.software_stack_changed:
        return None
    # Computed here, because Snakemake skips it for jobs whose input is made again.
    changed = workflow.persistence.params_changed(job)
    return changed_modules(changed.only_old, changed.only_new) if changed else set()


def _only_passages(workflow, job) -> bool:
    """Whether a job's inputs differ from its last ones by passages of texts, which change no result.

    LMs of earlier releases were trained without them.
    """
    now = set(map(str, job.input))
    recorded = filter(None, map(workflow.persistence.input, job.output))
    return all(Path(file).name == PASSAGES for before in recorded for file in now ^ set(before))


def _keep(workflow, refused: Mapping[str, tuple[str, list[str]]]) -> str:
    """Return the command that keeps the LMs: the same config, with --touch."""
    settings = workflow.config_settings
    words = ["./run", *(file for file, _ in refused.values()), "--touch"]
    if settings.configfiles:
        words += ["--configfile", *map(os.path.relpath, settings.configfiles)]
    given = [f"{key}={value}" for key, value in settings.config.items() if key not in ASKED]
    if given:
        words += ["--config", *given]
    return shlex.join(words)


def _keep_times(workflow) -> None:
    """Restore the modification times of outputs that --touch declares up to date."""
    dag, kept, checked = workflow.dag, [], {}
    for level in dag.toposorted():
        for job in filter(dag.needrun, level):
            if _only_code(workflow, job, checked) and all(map(os.path.exists, job.output)):
                times = [(Path(file), Path(file).stat().st_mtime_ns) for file in job.output]
                kept.append(([Path(file) for file in job.input], times))
    # Snakemake sets the times after this returns, and has no later hook.
    atexit.register(_restore, kept)


def _restore(kept: Iterable[tuple[list[Path], list[tuple[Path, int]]]]) -> None:
    """Set outputs' times, earlier jobs first, but never earlier than those of their inputs."""
    for inputs, outputs in kept:
        newest = max((path.stat().st_mtime_ns for path in inputs if path.exists()), default=0)
        if newest <= min(time for _, time in outputs):
            for path, time in outputs:
                os.utime(path, ns=(path.stat().st_atime_ns, time))
