"""The folder of results when a run begins: whose files it has, and what the user declares of them.

See recency.lineage for the records of files.
"""

import json
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from snakemake.logging import logger

from recency.digests import write_text
from recency.errors import InputError, with_page
from recency.lineage import (
    FOLDER,
    FORMAT,
    ROOT,
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
from recency.workflow.faults import ConfigError
from recency.workflow.study import Study

OF_A_RUN = ("logs", "benchmarks", "status.html", "status.json", "timings.txt", FOLDER)
"""Files and folders in a folder of results that tell of runs."""


def require_owner(study: Study, workflow) -> None:
    """Refuse a folder of results without records, or of another study; see recency.lineage."""
    if not workflow.is_main_process or study.config.get("adopt", False):
        return
    results = study.resolve("<results>")
    try:
        require_root(results, study.config["study"], str(study.config["scale"]))
    except InputError as error:
        raise ConfigError(with_page(error, str(error))) from None
    if Path(results, FOLDER).exists() and not Path(".snakemake", "metadata").exists():
        logger.warning(
            f"{results} was made elsewhere: files there whose settings have changed since are used as they are, "
            "since Snakemake's own folder (.snakemake) has not come along"
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
        open_root(study.resolve("<results>"), study.config["study"], str(study.config["scale"]))
        if study.config.get("adopt", False):
            adopt(made)
        elif workflow.touch:
            declare(made)
        else:
            _require_settings(other_settings(kept))
    except InputError as error:
        raise ConfigError(str(error)) from None


def _require_settings(others: Sequence[str]) -> None:
    """Refuse files that were made with other settings, of which Snakemake has no record."""
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise InputError(
            f"nothing was started: {others[0]}{more} would be used, but the config has changed since it was made. "
            f"To make it again: rm {shlex.quote(others[0])}, and repeat the command; to use it as it is: --touch"
        )


def require_root(root: str | Path, study: str, scale: str) -> None:
    """Check that the files in a folder of results have records of this version, and are this study's.

    Parameters
    ----------
    root : path
        The folder, which may be absent.
    study, scale : str
        Whose results they are.

    Raises
    ------
    InputError
        If its files have no records, records of another version, or are another study's.
    """
    path = Path(root, FOLDER, ROOT)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        version = stored["format"]
    except FileNotFoundError:
        if not _has_results(root):
            return
        version = "none"
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is damaged; put it back, or move {root} away") from None
    if version != FORMAT:
        raise InputError(
            f"the files in {root} were written by another version of the workflow (records of format {version}, "
            f"not {FORMAT}). To use them as they are, repeat the command with --config adopt=true; to make them "
            "again, move the folder away"
        )
    if (stored["study"], stored["scale"]) != (study, scale):
        raise InputError(
            f"{root} has the results of study {stored['study']}, scale {stored['scale']}, not of study "
            f"{study}, scale {scale}; move the folder away"
        )


def _has_results(root: str | Path) -> bool:
    """Return whether a folder has files other than those that tell of a run."""
    try:
        return any(name[0] != "." and name not in OF_A_RUN for name in os.listdir(root))
    except FileNotFoundError:
        return False


def open_root(root: str | Path, study: str = "", scale: str = "") -> None:
    """Prepare a folder for records, unless it is."""
    if not os.path.exists(path := Path(root, FOLDER, ROOT)):
        owner = {"format": FORMAT, "study": study, "scale": scale}
        write_text(path, json.dumps(owner) + "\n")


def adopt(jobs: Iterable[Any]) -> None:
    """Write records of outputs that have none, as they are; `jobs` are of Snakemake's plan."""
    for job in jobs:
        roots = [(root, inside_of(path, root)) for path in job.output if (root := root_of(path))]
        if roots and not all(read(root, file) for root, file in roots):
            there = filter(os.path.exists, map(str, job.input))
            write(job, {path: digest(path, roots[0][0]) for path in there}, adopted=True)


def declare(jobs: Iterable[Any]) -> None:
    """Record that outputs are up to date with the present inputs and settings, as under --touch.

    Their own digests stay, so that an edited file is still refused.
    """
    for job in jobs:
        for path in map(str, job.output):
            root = root_of(path)
            record = read(root, inside_of(path, root)) if root else None
            if record is not None:
                contents = {str(p): digest(p, root) for p in job.input if os.path.exists(p)}
                inside, outside = split(contents, root)
                now = settings(dict(job.params.items()))
                store(replace(record, inputs=inside, outside=outside, settings=now), root)


def other_settings(jobs: Iterable[Any]) -> list[str]:
    """Return the first output of each job whose record states other parameters than the job's.

    Snakemake compares them as well, but only where it made the files itself.
    """
    paths = []
    for job in jobs:
        path = str(job.output[0])
        root = root_of(path)
        record = read(root, inside_of(path, root)) if root else None
        if record is not None and record.file != (file := inside_of(path, root)):
            raise Refused(path, f"its record is not that of {file}, but of {record.file}")
        if record is not None and record.settings != settings(dict(job.params.items())):
            paths.append(path)
    return paths
