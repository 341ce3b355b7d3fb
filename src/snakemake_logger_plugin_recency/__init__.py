"""Snakemake's `--logger recency`, which `./run` selects: a quiet terminal.

Snakemake imports every package of this name whenever it starts, before it reads a Snakefile, which
decides whose `recency` is used. So nothing of `recency` is imported here: the run's status arrives
with a record of the log (`recency.workflow.engine.start.say_what`).
"""

import logging
import os
import sys
import threading
import time

from snakemake.logging import ColorizingTextHandler
from snakemake_interface_logger_plugins.base import LogHandlerBase

from snakemake_logger_plugin_recency.terminal import Terminal

#: Seconds between two states of the lines on a terminal.
EVERY = 3.0
#: Tells jobs that their progress belongs in their log alone (readingtimes.progress).
QUIET = "RECENCY_PROGRESS_IN_LOG"
#: Records on single jobs; Snakemake's log file has them.
OF_JOBS = (
    *("job_info", "job_started", "job_finished", "group_info", "shellcmd", "progress"),
    *("run_info", "resources_info", "workflow_started"),
)
#: Beginnings of Snakemake's other lines that come with every run or job and say nothing of it.
ROUTINE = (
    *("Select jobs to execute", "Using shell", "Conda environments: ignored"),
    *("Singularity containers: ignored", "Group jobs: inactive", "Job rate limit reached"),
    *("Removing temporary output", "Assuming unrestricted shared", "Building DAG", "host:"),
    *("Touching output file", "Write-protecting output file", "Complete log"),
    *("Elapsed time", "Reasons:"),
)


class LogHandler(LogHandlerBase):
    """Show a line per kind of job in place of Snakemake's twenty per job.

    Warnings, errors and a failed job's log are shown as Snakemake itself does. Without a terminal
    there is a line a minute. With `--dry-run`, `--verbose` or `--printshellcmds` all is shown.
    """

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        asked = self.common_settings
        stream = sys.stdout if asked.stdout else sys.stderr
        self.quiet = not (asked.dryrun or asked.verbose or asked.printshellcmds)
        self.plans = asked.dryrun and "rules" in {str(part).lower() for part in asked.quiet or ()}
        self.tables: set[str] = set()
        self.text = ColorizingTextHandler(nocolor=asked.nocolor, stream=stream)
        self.terminal = Terminal(stream)
        self.status = None
        self.ended = threading.Event()
        self.clock = threading.Thread(target=self._tick, daemon=True)
        if self.quiet:
            os.environ[QUIET] = "1"

    def setFormatter(self, fmt: logging.Formatter | None) -> None:
        """Have the text written as Snakemake writes it."""
        super().setFormatter(fmt)
        self.text.setFormatter(fmt)

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record into the run's status, and show it unless it is a routine one."""
        try:
            if hasattr(record, "run_status"):
                self.status = record.run_status
                if self.quiet and (said := self.status.introduction()):
                    self.terminal.say(said)
                self.clock.start()
            if self.status:
                self.status.take(record)
            if self._is_shown(record):
                self.terminal.clear()
                self.text.emit(record)
        except Exception:  # noqa: BLE001, a display that fails may not end the run
            self.handleError(record)

    def _is_shown(self, record: logging.LogRecord) -> bool:
        """Say whether a record is shown; of a plan, its table the first time."""
        if not (self.quiet or self.plans) or not _is_routine(record):
            return True
        if not self.plans or getattr(record, "event", None) != "run_info":
            return False
        text = record.getMessage()
        is_new = text not in self.tables
        self.tables.add(text)
        return is_new

    def _tick(self) -> None:
        """Write the terminal's lines, again and again, until the run ends."""
        while True:
            with self.lock:
                try:
                    self._write()
                except Exception as error:  # noqa: BLE001, as above
                    self._say_once(f"the run's status is not shown: {error!r}")
            if self.ended.wait(EVERY):
                return

    def _write(self) -> None:
        if self.quiet and not self.ended.is_set():
            state = self.status.state()
            self.terminal.show(self.status.table(state), self.status.headline(state))

    def _say_once(self, problem: str) -> None:
        if not getattr(self, "told", False):
            self.told = True
            self.terminal.say(f"warning: {problem}")

    def close(self) -> None:
        """Say the last state: finished, failed or stopped."""
        if self.status and not self.ended.is_set():
            self.ended.set()
            self.clock.join(timeout=EVERY)
            self.status.end(time.time())
            self.terminal.say(self.status.headline(self.status.state()))
        super().close()


def _is_routine(record: logging.LogRecord) -> bool:
    """Say whether a record comes with every job or run."""
    if record.levelno >= logging.WARNING:
        return False
    message = (record.getMessage() or "").lstrip()
    return getattr(record, "event", None) in OF_JOBS or message.startswith(ROUTINE)
