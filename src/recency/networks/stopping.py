"""A training that is told to end saves its state first: by a cluster, a shutdown, Ctrl-C, a closed terminal."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Seconds for which the other devices of a training live on, since the first waits for what they share.
GRACE = 20


class Stopped(Exception):
    """A training was told to end; no weight has changed since its last whole step."""


class Stop:
    """Whether this process was told to end, and by which signal."""

    def __init__(self):
        self.by = ""

    def check(self) -> None:
        """Raise Stopped if it was; called where a step has changed no weight yet."""
        if self.by:
            raise Stopped(self.by)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.by = signal.Signals(number).name
        print(f"{self.by}: the state is saved, then this training ends", file=sys.stderr)


@contextmanager
def asked(rank: int = 0) -> Iterator[Stop]:
    """Note the signals that end a process instead of ending; the first device alone (`rank` 0) acts on them.

    A training that was asked while its last step was under way ends by itself.
    """
    stop = Stop()

    def wait(number: int, frame: FrameType | None) -> None:
        if not signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.alarm(GRACE)

    with _handled(stop._note if rank == 0 else wait):
        yield stop


@contextmanager
def passed_on(processes: list) -> Iterator[None]:
    """Hand the signals that end a process on to `processes`, which end it when they have ended."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        for process in processes:
            if process.is_alive():
                process.terminate()

    with _handled(hand_on):
        yield


@contextmanager
def _handled(handler) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
