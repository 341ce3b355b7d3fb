"""Uses and replacements of private names of Snakemake, all in this module.

Each function documents its purpose and raises a one-line error if Snakemake lacks the name. CI plans
and runs the tiny study with the oldest and the newest version of `VERSIONS`.
"""

import functools
import re

from snakemake import __version__

from recency import lineage
from recency.workflow.engine.faults import ConfigError

#: Supported versions: from the first, below the second.
VERSIONS = ("9.20", "10")


def require_version(version: str = __version__) -> None:
    """Raise ConfigError if Snakemake is older or newer than the supported versions."""
    low, high = ([int(part) for part in version_text.split(".")] for version_text in VERSIONS)
    if not low <= [int(part) for part in re.findall(r"\d+", version)[:2]] < high:
        raise ConfigError(
            f"this workflow runs with Snakemake >={VERSIONS[0]},<{VERSIONS[1]}, and this is {version}: "
            f'pip install "snakemake>={VERSIONS[0]},<{VERSIONS[1]}"'
        )


def require_names(why: str, *names: tuple[object, str]) -> None:
    """Raise ConfigError if an object of Snakemake lacks a private name."""
    for owner, name in names:
        if not hasattr(owner, name):
            raise ConfigError(
                f"Snakemake {__version__} has no {getattr(owner, '__name__', type(owner).__name__)}.{name}, "
                f"without which {why}; install an older one: "
                f'pip install "snakemake>={VERSIONS[0]},<={__version__}"'
            )


@functools.cache
def record_finished_jobs_only() -> None:
    """Record the metadata of successful jobs only (snakemake issue 3808, open in 9.27).

    Snakemake stores a failed job's parameters and input checksums as if it had finished, and removes
    its outputs. If an earlier run had made them with other parameters, the next run would find no
    change and treat results of the earlier outputs as up to date. Without the record it compares with
    the last successful job. Outputs have their final times when they are recorded, by which
    `recency.lineage` knows them. Protects results.
    """
    from snakemake.jobs import Job
    from snakemake.persistence import PersistenceBase

    require_names(
        "a failed job would be recorded as done and results could be stale",
        (Job, "postprocess"),
        *((PersistenceBase, name) for name in ("finished", "_unmark_incomplete", "_get_key")),
    )
    postprocess, finished, failed = Job.postprocess, PersistenceBase.finished, set()

    async def postprocess_job(job, *args, error=False, **kwargs):
        if error:
            failed.add(job)
        try:
            return await postprocess(job, *args, error=error, **kwargs)
        finally:
            failed.discard(job)

    async def record_job(persistence, job):
        if job in failed:
            for path in job.output:  # they are about to be removed
                persistence._unmark_incomplete(persistence._get_key(path))
        else:
            await finished(persistence, job)
            if not job.dag.workflow.touch:
                lineage.stamp(job.output)

    Job.postprocess, PersistenceBase.finished = postprocess_job, record_job


def opened_workflow(api):
    """Return the Workflow of a WorkflowApi: its rules, globals and path variables."""
    require_names("./run --list and ./run timings have no study", (type(api), "_workflow"))
    return api._workflow


def build_dag(workflow, targets) -> None:
    """Plan `targets`, as `snakemake --dag` does, without running anything."""
    require_names("./run --list has no costs", (workflow, "_prepare_dag"), (workflow, "_build_dag"))
    workflow.dag_settings.targets = set(targets)
    workflow._prepare_dag(forceall=False, ignore_incomplete=True, lock_warn_only=True)
    workflow._build_dag()


def set_handlers(workflow, onstart, onsuccess, onerror) -> None:
    """Set the handlers of a run whose Snakefile uses this project as a module.

    Snakemake ignores the handlers of a module, which check a run before it starts.
    Protects results.
    """
    names = ("_onstart", "_onsuccess", "_onerror")
    require_names("a module's runs would begin unchecked", *((workflow, name) for name in names))
    workflow._onstart, workflow._onsuccess, workflow._onerror = onstart, onsuccess, onerror
