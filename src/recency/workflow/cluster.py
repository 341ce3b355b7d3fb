"""Resources of jobs on a cluster, and removal of queued jobs of a killed run."""

import subprocess
import time
from collections.abc import Callable

from snakemake.logging import logger

#: Seconds for a job to save its state and exit, in addition to Slurm's KillWait (default 30).
PATIENCE = 120.0
#: States in which a Slurm job may still write.
ALIVE = "PENDING,RUNNING,SUSPENDED,COMPLETING,CONFIGURING,STOPPED,REQUEUED,RESIZING"


def growing(mem_mb: int, runtime: int) -> dict[str, Callable]:
    """Return a rule's resources, multiplied by the number of the attempt.

    Parameters
    ----------
    mem_mb, runtime
        Memory in MB and run time in minutes of the first attempt. A training that reaches its time
        limit saves its state and continues at the next attempt. docs/scaling.md lists measured values.
    """
    return {
        "mem_mb": lambda wildcards, attempt: mem_mb * attempt,
        "runtime": lambda wildcards, attempt: runtime * attempt,
    }


def end_orphans(workflow) -> None:
    """Cancel jobs in Slurm's queue that a killed run of this folder left.

    They would write the same files as this run's jobs. Trainings save their state first.
    """
    jobs = list(workflow.dag.needrun_jobs())
    recorded = {id for job in jobs for id in workflow.persistence.external_jobids(job)}
    left = _alive(recorded)
    if not left:
        return
    logger.info(
        f"Cancelling {len(left)} jobs that a killed run left in the queue: {', '.join(left)}"
    )
    subprocess.run(["scancel", *left], check=False)
    deadline = time.monotonic() + PATIENCE
    while _alive(left) and time.monotonic() < deadline:
        time.sleep(1)


def _alive(jobs) -> list[str]:
    """Return the Slurm jobs that are pending or running."""
    if not jobs:
        return []
    words = ["squeue", "--noheader", "--format=%i", f"--states={ALIVE}"]
    try:
        listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return []
    return sorted(set(listed.split()) & {str(job_id) for job_id in jobs})
