"""Lines at the foot of a terminal that are written over; elsewhere, one line a minute."""

import os
import re
import shutil
import time
from collections.abc import Sequence
from typing import TextIO

#: Seconds between two lines where there is no terminal.
EVERY = 60.0
#: Characters that would move the cursor, or turn a line's direction.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Terminal:
    """Where a run shows how far it is.

    After each writing the cursor stands at the first of the lines, so that whatever a job prints
    then stays: the next lines come below it.
    """

    def __init__(self, stream: TextIO):
        self.stream = stream
        self.is_live = stream.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
        self.has_lines = False
        self.last = 0.0

    def show(self, lines: Sequence[str], line: str) -> None:
        """Show `lines` on a terminal; elsewhere the one `line`, if it is time for it."""
        if self.is_live:
            columns, rows = shutil.get_terminal_size()
            lines = [
                CONTROL.sub("\N{REPLACEMENT CHARACTER}", text_line)
                for text_line in lines[: rows - 2]
            ]
            text = "".join(f"{text_line[: columns - 1]}\n" for text_line in lines)
            self._write(f"\r\x1b[J{text}\x1b[{len(lines)}A")
            self.has_lines = True
        elif time.monotonic() - self.last >= EVERY or not self.last:
            self.say(line)

    def say(self, line: str) -> None:
        """Write a line that stays."""
        self.clear()
        self._write(CONTROL.sub("\N{REPLACEMENT CHARACTER}", line) + "\n")
        self.last = time.monotonic()

    def clear(self) -> None:
        """Remove the lines that are written over."""
        if self.has_lines:
            self._write("\r\x1b[J")
            self.has_lines = False

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
