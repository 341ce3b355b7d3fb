"""Warn that a run starts no more jobs because one failed, while others still run.

Otherwise the progress of the remaining jobs, possibly for hours, would look like a healthy run.
"""

import logging
import threading

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

#: Seconds between repetitions of the warning.
REPEAT_AFTER = 600


class FailureNotice(logging.Handler):
    """Handler of Snakemake's log that waits for the first job to fail finally.

    Parameters
    ----------
    workflow
        Snakemake's workflow after planning.
    """

    def __init__(self, workflow):
        super().__init__()
        self.workflow = workflow
        self.failed = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Announce the first failure, unless the job is retried or the run has --keep-going."""
        if getattr(record, "event", None) != LogEvent.JOB_ERROR or self.failed:
            return
        if self.workflow.execution_settings.keep_going:
            return
        jobs = [job for job in self._running() if self.workflow.dag.jobid(job) == record.jobid]
        if jobs and not any(job.attempt <= job.restart_times for job in jobs):
            self.failed = _named(jobs[0])
            self._announce(without=jobs[0])

    def _running(self) -> list:
        jobs = tuple(self.workflow.scheduler.running)
        return [one for job in jobs for one in (job.jobs if job.is_group() else [job])]

    def _announce(self, without=None) -> None:
        """Warn, and again after a while, as long as jobs run."""
        running = sorted(_named(job) for job in self._running() if job is not without)
        if running:
            logger.warning(
                f"{self.failed} failed (see above), so no further jobs are started; these jobs still "
                f"run: {', '.join(running)}. The same command then continues from the completed jobs; "
                "with --keep-going, jobs that do not depend on the failed one are started too"
            )
            timer = threading.Timer(REPEAT_AFTER, self._announce)
            timer.daemon = True
            timer.start()


def _named(job) -> str:
    """Return a job's rule and its wildcards' values."""
    return " ".join([job.rule.name, *map(str, job.wildcards)])


def watch(workflow) -> None:
    """Add the notice to Snakemake's log."""
    logger.addHandler(FailureNotice(workflow))
