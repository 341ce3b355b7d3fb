"""Save a training's state when a signal stops it (cluster, shutdown, Ctrl-C, closed terminal)."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Seconds that other devices of a training stay alive, since the first waits for their gradients.
GRACE = 20


class Stopped(Exception):
    """A training was told to stop; no weight has changed since its last complete step."""


class Stop:
    """Whether this process was told to stop, and by which signal."""

    def __init__(self):
        self.by = ""

    def check(self) -> None:
        """Raise Stopped if so; called before a step has changed any weight."""
        if self.by:
            raise Stopped(self.by)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.by = signal.Signals(number).name
        print(f"{self.by}: the state is saved, then this job ends", file=sys.stderr)


@contextmanager
def catch_signals(rank: int = 0) -> Iterator[Stop]:
    """Record the signals that would end a process; only the first device (`rank` 0) acts on them.

    A training that is signalled during its last step ends normally.
    """
    stop = Stop()

    def wait(number: int, frame: FrameType | None) -> None:
        if not signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.alarm(GRACE)

    with _handle_signals(stop._note if rank == 0 else wait):
        yield stop


@contextmanager
def forward_signals(processes: list) -> Iterator[None]:
    """Forward the signals that would end a process to `processes`; it ends after they have."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        for process in processes:
            if process.is_alive():
                process.terminate()

    with _handle_signals(hand_on):
        yield


@contextmanager
def _handle_signals(handler) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
