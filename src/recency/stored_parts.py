"""Storage of a job's finished parts by content: a job that runs again computes only new parts.

Snakemake deletes the outputs of jobs that fail or run again. A job with many parts therefore stores
each when it is done: as a hard link (or copy) in `.kept` next to it, with a key of all its inputs. The
file is reused only under that key, and if its bytes are unchanged. There is one entry per file; a new
one replaces it.
"""

import functools
import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from readingtimes.files import atomic, sha256
from recency import lineage

FOLDER = ".kept"
ENTRY = "entry.json"
#: Packages whose installed version is part of every key.
VERSIONS = ("torch", "transformers", "tokenizers", "numpy", "scipy", "pandas", "rpy2")


@dataclass(frozen=True)
class Part:
    """A part of a job: its name, its output files, and the key of its inputs."""

    name: str
    outputs: tuple[Path, ...]
    key: str


def key(files: Mapping[str, Any], settings: Any, code: Mapping[str, str]) -> str:
    """Return the digest of the contents of `files` (role → path or paths), settings and code."""
    contents = {
        role: [content(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        for role, paths in files.items()
        if paths is not None
    }
    made_from = [contents, settings, dict(code), _versions()]
    text = json.dumps(made_from, sort_keys=True, ensure_ascii=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def content(path: str | Path) -> str:
    """Return the digest of a file's bytes, or of the names, sizes and times of a folder's files."""
    path = Path(path)
    if path.is_dir():
        stats = [(str(file.relative_to(path)), file.stat()) for file in sorted(path.rglob("*"))]
        rows = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
        return hashlib.sha256(repr(rows).encode()).hexdigest()
    return lineage.digest(path)


@functools.cache
def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for name in VERSIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def missing(parts: Sequence[Part]) -> list[Part]:
    """Restore the stored ones of `parts`, log them, and return the others."""
    left = [part for part in parts if not take(part)]
    if done := len(parts) - len(left):
        what = ", ".join(part.name for part in left) or "nothing"
        print(
            f"{done} of {len(parts)} are stored from an earlier run; left: {what}", file=sys.stderr
        )
    return left


def take(part: Part) -> bool:
    """Restore a part's files if they are stored under its key; return whether they were."""
    where = _where(part)
    try:
        entry = json.loads((where / ENTRY).read_text())
        kept = [where / path.name for path in part.outputs]
        whole = entry["key"] == part.key and [sha256(path) for path in kept] == entry["files"]
    except (OSError, ValueError, KeyError):
        return False
    if whole:
        for source, output in zip(kept, part.outputs, strict=True):
            _link_file(source, output)
            os.utime(output)  # newer than its inputs
    return whole


def keep(part: Part, seconds: float) -> None:
    """Store a part's finished files under its key, with the `seconds` that it took."""
    where = _where(part)
    where.mkdir(parents=True, exist_ok=True)
    for output in part.outputs:
        _link_file(output, where / output.name)
    entry = {"key": part.key, "files": [sha256(path) for path in part.outputs], "seconds": seconds}
    with atomic(where / ENTRY) as path:
        path.write_text(json.dumps(entry) + "\n")


def seconds(folder: Path) -> list[float]:
    """Return the seconds that each stored part in a folder took."""
    times = []
    for path in sorted(folder.glob(f"{FOLDER}/*/{ENTRY}")):
        try:
            times.append(float(json.loads(path.read_text())["seconds"]))
        except (OSError, ValueError, KeyError):
            continue
    return times


def make(part: Part, work: Callable[[], None]) -> None:
    """Compute a part and store its files."""
    began = time.monotonic()
    work()
    keep(part, time.monotonic() - began)


def _where(part: Part) -> Path:
    first = part.outputs[0]
    return first.parent / FOLDER / first.name


def _link_file(source: Path, target: Path) -> None:
    """Hard-link `target` to `source`, or copy it if the disk does not support links."""
    with atomic(target) as path:
        try:
            os.link(source, path)
        except OSError:
            shutil.copyfile(source, path)
