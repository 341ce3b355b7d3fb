"""The folder of results when a run begins: whose files it has, and what the user declares of them.

See recency.lineage for the records of files.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from snakemake.logging import logger
from snakemake.settings.types import RerunTrigger

from recency.digests import write_text
from recency.errors import REFUSALS, InputError, with_page
from recency.lineage import (
    FOLDER,
    FORMAT,
    ROOT,
    Record,
    Refused,
    digest,
    inside_of,
    read,
    root_of,
    settings,
    split,
    store,
    write,
)
from recency.workflow.engine.faults import ConfigError
from recency.workflow.plan.study import Study

OF_A_RUN = ("logs", "benchmarks", "timings.txt", FOLDER)
"""Files and folders in a folder of results that tell of runs."""


def require_owner(study: Study, workflow) -> None:
    """Refuse a folder of results without records, or of another study; see recency.lineage."""
    if not workflow.is_main_process:
        return
    results, adopted = study.resolve("<results>"), bool(study.config.get("adopt", False))
    try:
        require_root(results, study.config["study"], str(study.config["scale"]), adopted)
    except REFUSALS as error:
        raise ConfigError(with_page(error, str(error))) from None
    if Path(results, FOLDER).exists() and not Path(".snakemake", "metadata").exists():
        logger.warning(
            f"{results} was made elsewhere, and Snakemake's own folder (.snakemake) has not come along: where "
            "nothing is left to make, changes of the config are not noticed"
        )


def open_records(study: Study, workflow) -> None:
    """Prepare the folders of a run for records, and record what the user declares.

    `--config adopt=true` records files as they are; `--touch` inputs and settings of results.
    """
    jobs = sorted(workflow.dag.jobs, key=lambda job: str(job.output))
    made = [job for job in jobs if job.rule.script and all(map(os.path.exists, job.output))]
    kept = [job for job in made if not workflow.dag.needrun(job)]
    try:
        open_root(study.resolve("<resources>/downloads"))
        adopted = bool(study.config.get("adopt", False))
        owner = study.config["study"], str(study.config["scale"])
        open_root(study.resolve("<results>"), *owner, is_new=adopted)
        if adopted:
            adopt(made)
            adopt_inputs(jobs)
        if workflow.touch:
            declare(made)
        else:
            ignored = RerunTrigger.PARAMS not in workflow.rerun_triggers
            require_up_to_date(kept, ignore_settings=ignored)
    except REFUSALS as error:
        raise ConfigError(str(error)) from None


def require_root(root: str | Path, study: str, scale: str, adopted: bool = False) -> None:
    """Check that the files in a folder of results have records of this version, and are this study's.

    Parameters
    ----------
    root : path
        The folder, which may be absent.
    study, scale : str
        Whose results they are.
    adopted : bool
        Whether files without records, or with those of another version, are used as they are.

    Raises
    ------
    InputError
        If its files have no records, records of another version, or are another study's.
    """
    path = Path(root, FOLDER, ROOT)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        version, owner = stored["format"], (stored["study"], stored["scale"])
    except FileNotFoundError:
        if not _has_results(root):
            return
        version, owner = "none", (study, scale)
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is damaged; put it back, or move {root} away") from None
    if version != FORMAT and not adopted:
        raise InputError(
            f"the files in {root} were written by another version of the workflow (records of format {version}, "
            f"not {FORMAT}). To use them as they are, repeat the command with --config adopt=true; to make them "
            "again, move the folder away"
        )
    if owner != (study, scale):
        raise InputError(
            f"{root} has the results of study {owner[0]}, scale {owner[1]}, not of study {study}, scale "
            f"{scale}; move the folder away"
        )


def _has_results(root: str | Path) -> bool:
    """Return whether a folder has files other than those that tell of a run."""
    try:
        return any(name[0] != "." and name not in OF_A_RUN for name in os.listdir(root))
    except FileNotFoundError:
        return False


def open_root(root: str | Path, study: str = "", scale: str = "", is_new: bool = False) -> None:
    """Prepare a folder for records, unless it is; `is_new` starts it again."""
    if is_new or not os.path.exists(path := Path(root, FOLDER, ROOT)):
        path = Path(root, FOLDER, ROOT)
        owner = {"format": FORMAT, "study": study, "scale": scale}
        write_text(path, json.dumps(owner) + "\n")


def adopt(jobs: Iterable[Any]) -> None:
    """Write records of outputs that have none, as they are; `jobs` are of Snakemake's plan."""
    for job in jobs:
        roots = [(root, inside_of(path, root)) for path in job.output if (root := root_of(path))]
        if roots and not all(_is_recorded(root, file) for root, file in roots):
            there = filter(os.path.exists, map(str, job.input))
            write(job, {path: digest(path, roots[0][0]) for path in there}, adopted=True)


def adopt_inputs(jobs: Iterable[Any]) -> None:
    """Write records of inputs in folders of results that have none, and that no rule would make."""
    for path in dict.fromkeys(str(path) for job in jobs for path in job.input):
        root = root_of(path)
        if root and os.path.isfile(path) and not _is_recorded(root, inside_of(path, root)):
            size, content = os.path.getsize(path), digest(path)
            record = Record(inside_of(path, root), "", "", {}, "", content, size, adopted=True)
            store(record, root)


def _is_recorded(root: Path, file: str) -> bool:
    """Return whether a file has a record of this version."""
    try:
        return read(root, file) is not None
    except Refused:
        return False


def declare(jobs: Iterable[Any]) -> None:
    """Record that outputs are up to date with the present inputs and settings, as under --touch.

    Their own digests stay, so that an edited file is still refused.
    """
    for job in jobs:
        for path in map(str, job.output):
            root = root_of(path)
            record = read(root, inside_of(path, root)) if root else None
            if record is not None:
                contents = {
                    str(p): _digest_of_input(p, root) for p in job.input if os.path.exists(p)
                }
                inside, outside = split(contents, root)
                now = settings(dict(job.params.items()))
                store(replace(record, inputs=inside, outside=outside, settings=now), root)


def _digest_of_input(path: str, root: Path) -> str:
    """Return the digest of an input as the workflow wrote it, or as it is outside of the results."""
    record = read(root, inside_of(path, root)) if root_of(path) == root else None
    return record.sha256 if record else digest(path, root)


def require_up_to_date(jobs: Iterable[Any], ignore_settings: bool = False) -> None:
    """Check the records of jobs whose outputs a run would use as they are.

    Snakemake compares settings as well, but only where it made the files itself, and files by their
    times, which can be set back. `ignore_settings` is for `--rerun-triggers` without params.

    Raises
    ------
    InputError
        If outputs were made with other settings, from other files outside of the results, or are
        others' according to their records.
    """
    changed: dict[str, str] = {}
    present: dict[tuple[Path, str], str] = {}
    first = ""
    for job in jobs:
        path = str(job.output[0])
        root = root_of(path)
        record = read(root, inside_of(path, root)) if root else None
        if record is None:
            continue
        if record.file != (file := inside_of(path, root)):
            raise Refused(path, f"its record is not that of {file}, but of {record.file}")
        is_same = ignore_settings or record.settings in ("", settings(dict(job.params.items())))
        why = "" if is_same else "the config"
        for name, value in record.outside.items():
            if (root, name) not in present:
                present[root, name] = digest(name, root) if os.path.exists(name) else value
            why = why or (name if present[root, name] != value else "")
        if why:
            first = first or f"{path} would be used, but {why} has changed since it was made"
            changed[job.rule.name] = path
    if changed:
        raise InputError(
            f"nothing was started: {first}. To make it again, and what else has changed, repeat the command "
            f"with -R {' '.join(sorted(changed))}"
        )
