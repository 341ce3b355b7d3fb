"""What a long job has done so far, kept beside its output, so that a killed one goes on where it was.

The file has the job's whole specification within, and is used by a job of that specification alone.
"""

import json
import sys
from pathlib import Path

from recency.files import atomic, sha256


def path_for(out: str | Path) -> Path:
    """Return where the parts of an output are kept."""
    return Path(out).with_name(f".{Path(out).name}.state.json")


def read(state: Path, specification: dict, what: str = "parts") -> dict[str, list]:
    """Return the parts that a killed job of this specification has done; of another, none."""
    if not state.exists():
        return {}
    stored = json.loads(state.read_text())
    if stored["specification"] != json.loads(json.dumps(specification)):
        print(f"{state} is of another specification and is not used", file=sys.stderr)
        return {}
    print(f"{len(stored['done'])} {what} were done before", file=sys.stderr)
    return stored["done"]


def write(state: Path, specification: dict, done: dict[str, list]) -> None:
    """Keep the parts that are done."""
    with atomic(state) as path:
        path.write_text(json.dumps({"specification": specification, "done": done}))


def digest(path: str | Path) -> str:
    """Return a file's sha256, or the path itself where there is no such file."""
    if not Path(path).is_file():
        return str(path)
    return sha256(path)
