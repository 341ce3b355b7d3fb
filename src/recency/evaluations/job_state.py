"""Partial results of a long job, stored next to its output, so that a killed job resumes.

The file contains the job's whole specification and is used only by a job with the same one.
"""

import json
import sys
from pathlib import Path

from readingtimes.files import atomic, sha256
from recency.scoring.lm_spec import LMSpec


def path_for(out: str | Path) -> Path:
    """Return the path of the partial results of an output."""
    return Path(out).with_name(f".{Path(out).name}.state.json")


def read(state: Path, specification: dict, what: str = "parts") -> dict[str, list]:
    """Return the parts that a killed job with this specification finished, otherwise none."""
    if not state.exists():
        return {}
    stored = json.loads(state.read_text())
    if stored["specification"] != json.loads(json.dumps(specification)):
        print(f"{state} has another specification and is not used", file=sys.stderr)
        return {}
    print(f"{len(stored['done'])} {what} were already done", file=sys.stderr)
    return stored["done"]


def write(state: Path, specification: dict, done: dict[str, list]) -> None:
    """Store the finished parts."""
    with atomic(state) as path:
        path.write_text(json.dumps({"specification": specification, "done": done}))


def lm_identity(lm: LMSpec) -> list:
    """Return what an LM's scores depend on: its files, its bias and how it reads texts."""
    model = Path(lm.model)
    parts = ("config.json", "*.safetensors", "pytorch_model*.bin")
    files = [file for part in parts for file in sorted(model.glob(part))] or [model]
    digests = [digest(file) for file in [*files, *filter(None, [lm.tokenizer])]]
    reading = [lm.bos, lm.stride, dict(lm.scoring), lm.lossy, dict(lm.weights)]
    return [digests, lm.bias, *reading]


def digest(path: str | Path) -> str:
    """Return a file's sha256, or the path itself if there is no such file."""
    if not Path(path).is_file():
        return str(path)
    return sha256(path)
