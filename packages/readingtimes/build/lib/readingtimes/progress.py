"""Progress of a long job, in its log and on the terminal."""

import os
import sys
import time

#: Set by `--logger recency`, which shows the last lines of logs itself.
IN_LOG = "RECENCY_PROGRESS_IN_LOG"


class progress:
    """Print the progress of a long job, at most every `every` seconds."""

    def __init__(self, total: float, what: str, unit: str = "", every: float = 10.0):
        self.total, self.what, self.unit, self.every = total, what, unit, every
        self.started = self.last = time.monotonic()
        self.first: float | None = None
        self.begun = False  # whether the rate counts from the end of the first unit
        self.at_most = False  # whether it may end before `total`

    def update(self, done: float, note: str = "") -> None:
        """Report `done` of `total`.

        The rate counts from the first call (after a resume, too), and once more than one unit is done, from the
        end of the first, in which a GPU's kernels are compiled.
        """
        now = time.monotonic()
        if self.first is None:
            self.first = done
        rate = (done - self.first) / (now - self.started) if now > self.started else 0.0
        if not self.begun and done > self.first:
            self.begun, self.first, self.started = True, done, now
        if now - self.last < self.every:
            return
        self.last = now
        most = "at most " if self.at_most else ""
        left = f", {most}{_clock((self.total - done) / rate)} left" if rate > 0 else ""
        note = f", {note}" if note else ""
        speed = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        line = f"{self.what}: {done / self.total:4.0%}, {speed} {self.unit}/s{left}{note}"
        if IN_LOG not in os.environ:
            print(line, flush=True)
        print(line, file=sys.stderr)


def _clock(seconds: float) -> str:
    """Format a duration as m:ss or h:mm:ss."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
