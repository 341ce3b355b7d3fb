"""How often a run looks for jobs that may start.

Snakemake 9 looks when a job has ended, and again a second after every look, for its limit of jobs a
second: each job that ends begins a chain of its own. After 170 jobs the process looked 170 times a
second, which took two fifths of a core from the jobs.
"""

from __future__ import annotations

import threading


def look_once(workflow) -> None:
    """Let a run's scheduler wait for one later look at a time."""
    scheduler, pending = workflow.scheduler, threading.Lock()

    def look() -> None:
        pending.release()
        scheduler._open_jobs.release()

    def later(delay: float) -> None:
        if pending.acquire(blocking=False):
            timer = threading.Timer(delay, look)
            timer.daemon = True
            timer.start()

    scheduler._schedule_reevalutation = later  # the name is Snakemake's
