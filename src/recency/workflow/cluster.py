"""Resources of jobs on a cluster, and jobs that a killed run left in its queue."""

import subprocess
import time
from collections.abc import Callable

from snakemake.logging import logger

#: Seconds for a job to save its state and go, beyond Slurm's own patience (KillWait, 30 by default).
PATIENCE = 120.0
#: States in which a job of Slurm's may still write.
ALIVE = "PENDING,RUNNING,SUSPENDED,COMPLETING,CONFIGURING,STOPPED,REQUEUED,RESIZING"


def growing(mem_mb: int, runtime: int) -> dict[str, Callable]:
    """Return a rule's resources, `attempt` times as much at each attempt.

    Parameters
    ----------
    mem_mb, runtime
        Megabytes of memory and minutes of the first attempt. A training that its time ends saves its
        state first and continues at the next attempt. docs/scaling.md lists what jobs took.
    """
    return {
        "mem_mb": lambda wildcards, attempt: mem_mb * attempt,
        "runtime": lambda wildcards, attempt: runtime * attempt,
    }


def end_orphans(workflow) -> None:
    """End the jobs that an earlier run of this folder, which was killed, left in Slurm's queue.

    They would write what this run's jobs write. A training saves its state; what else was done is kept.
    """
    jobs = list(workflow.dag.needrun_jobs())
    known = {id for job in jobs for id in workflow.persistence.external_jobids(job)}
    left = _alive(known)
    if not left:
        return
    logger.info(f"Ending {len(left)} jobs that a killed run left in the queue: {', '.join(left)}")
    subprocess.run(["scancel", *left], check=False)
    deadline = time.monotonic() + PATIENCE
    while _alive(left) and time.monotonic() < deadline:
        time.sleep(1)


def _alive(known) -> list[str]:
    """Return which of Slurm's jobs are waiting or at work."""
    if not known:
        return []
    words = ["squeue", "--noheader", "--format=%i", f"--states={ALIVE}"]
    try:
        listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return []
    return sorted(set(listed.split()) & {str(each) for each in known})
