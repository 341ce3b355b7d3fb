"""When a run looks for jobs that may start, and that it says so once it starts no more.

Snakemake 9 looks when a job has ended, and again a second after every look, for its limit of jobs a
second: each job that ends begins a chain of its own. After 170 jobs the process looked 170 times a
second, which took two fifths of a core from the jobs.
"""

import threading

from snakemake.logging import logger

#: Seconds after which a run that starts no more jobs says so again.
AGAIN = 600


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


def say_when_it_ends(workflow) -> None:
    """Have a run that starts no more jobs, since one failed, say so at once and while others still run.

    Their progress, of hours, would else look like that of a run in which all is well.
    """
    scheduler = workflow.scheduler
    handle = scheduler._handle_error  # the name is Snakemake's

    def handled(job, *args, **kwargs) -> None:
        earlier = scheduler._errors
        handle(job, *args, **kwargs)
        if scheduler._errors and not earlier and not scheduler.keepgoing:
            say(_named(job))

    def say(failed: str) -> None:
        if running := sorted(map(_named, tuple(scheduler.running))):
            logger.warning(
                f"{failed} failed (see above), so that nothing else is started; what runs goes on to its end: "
                f"{', '.join(running)}. The same command then goes on from what is complete; with "
                "--keep-going, jobs that don't need the failed one are started all the same"
            )
            timer = threading.Timer(AGAIN, say, [failed])
            timer.daemon = True
            timer.start()

    scheduler._handle_error = handled


def _named(job) -> str:
    """Return a job's rule and what it is of; a group's rules."""
    if job.is_group():
        return " and ".join(sorted(map(_named, job.jobs)))
    return " ".join([job.rule.name, *map(str, job.wildcards)])
