"""`./run --watch`: follow the run in this folder from another terminal."""

import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from recency.errors import InputError
from recency.workflow import costs, run_status, status_page
from snakemake_logger_plugin_recency.terminal import Terminal

#: Seconds between updates.
EVERY = 2.0


def read() -> dict:
    """Return the state of the last run in this folder; InputError if there was none."""
    try:
        folder = Path(run_status.POINTER.read_text(encoding="utf-8"))
        return json.loads((folder / run_status.JSON).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            "there was no run in this folder yet; start one with ./run --cores N"
        ) from None


def is_at_work(state: Mapping, now: float) -> bool:
    """Return whether a run is active: its process exists, or on another machine, it wrote recently."""
    if state["state"] != "running":
        return False
    if state["host"] != socket.gethostname():
        return now - state["updated"] < status_page.STALE
    try:
        os.kill(state["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another account's
        pass
    return True


def main() -> int:
    """Print the run's state until it ends; return the exit status."""
    terminal = Terminal(sys.stdout)
    is_first = True
    try:
        while is_at_work(state := read(), time.time()):
            terminal.show(run_status.table(state), run_status.headline(state))
            is_first = False
            time.sleep(EVERY)
        if is_first:
            raise InputError(_last(state))
    except InputError as error:
        print(f"run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        terminal.clear()
        return 0
    terminal.say(_last(state) if state["state"] == "running" else run_status.headline(state))
    return 0


def _last(state: Mapping) -> str:
    """Return a line on the outcome of the last run."""
    ago = costs.duration(time.time() - state["updated"])
    was = "was killed" if state["state"] == "running" else state["state"]
    if was == "stopped":
        was = "was stopped"
    return f"no run is active here; the last one {was} {ago} ago: {state['page']}"


if __name__ == "__main__":
    sys.exit(main())
