"""Finished parts of a job, kept by their content: a job that runs again makes only what is new.

Snakemake deletes the outputs of a job that it runs again, or that fails. A job of many parts
therefore keeps each as it is done: a hard link in `.kept` beside it (a copy where links do not work),
with a key of all that the part was made from. The file is used again under that key alone, and only
if its bytes are those that were kept. There is one entry a file; a new one replaces it.
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

from recency.files import atomic, sha256

FOLDER = ".kept"
ENTRY = "entry.json"
#: Packages whose version is part of every key, where they are installed.
VERSIONS = ("torch", "transformers", "tokenizers", "numpy", "scipy", "pandas", "rpy2")


@dataclass(frozen=True)
class Part:
    """One of the things that a job makes: its name, its files, and the key of what it is made from."""

    name: str
    outputs: tuple[Path, ...]
    key: str


def key(files: Mapping[str, Any], settings: Any, code: Mapping[str, str]) -> str:
    """Return the digest of the contents of `files` (role → path, or several), settings and code."""
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
    """Return the digest of a file's bytes; of a folder, that of its files' names, sizes and times."""
    path = Path(path)
    if path.is_dir():
        stats = [(str(each.relative_to(path)), each.stat()) for each in sorted(path.rglob("*"))]
        known = [(name, found.st_size, found.st_mtime_ns) for name, found in stats]
        return hashlib.sha256(repr(known).encode()).hexdigest()
    return sha256(path)


@functools.cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def missing(parts: Sequence[Part]) -> list[Part]:
    """Put what is kept of `parts` in its place, say so in the log, and return the others."""
    left = [part for part in parts if not take(part)]
    if done := len(parts) - len(left):
        what = ", ".join(part.name for part in left) or "nothing"
        print(
            f"{done} of {len(parts)} were done before and are kept; left: {what}", file=sys.stderr
        )
    return left


def take(part: Part) -> bool:
    """Put a part's files in their place if they are kept under its key; say whether they were."""
    where = _where(part)
    try:
        entry = json.loads((where / ENTRY).read_text())
        kept = [where / path.name for path in part.outputs]
        whole = entry["key"] == part.key and [sha256(path) for path in kept] == entry["files"]
    except (OSError, ValueError, KeyError):
        return False
    if whole:
        for source, output in zip(kept, part.outputs, strict=True):
            _linked(source, output)
            os.utime(output)  # it is newer than what it would have been made from
    return whole


def keep(part: Part, seconds: float) -> None:
    """Keep a part's finished files under its key, with the `seconds` that it took."""
    where = _where(part)
    where.mkdir(parents=True, exist_ok=True)
    for output in part.outputs:
        _linked(output, where / output.name)
    entry = {"key": part.key, "files": [sha256(path) for path in part.outputs], "seconds": seconds}
    with atomic(where / ENTRY) as path:
        path.write_text(json.dumps(entry) + "\n")


def seconds(folder: Path) -> list[float]:
    """Return how long each of the kept parts in a folder took."""
    found = []
    for path in sorted(folder.glob(f"{FOLDER}/*/{ENTRY}")):
        try:
            found.append(float(json.loads(path.read_text())["seconds"]))
        except (OSError, ValueError, KeyError):
            continue
    return found


def make(part: Part, work: Callable[[], None]) -> None:
    """Do the work of a part, and keep what it made."""
    began = time.monotonic()
    work()
    keep(part, time.monotonic() - began)


def _where(part: Part) -> Path:
    first = part.outputs[0]
    return first.parent / FOLDER / first.name


def _linked(source: Path, target: Path) -> None:
    """Make `target` the same file as `source`, or a copy where the disk has no such links."""
    with atomic(target) as path:
        try:
            os.link(source, path)
        except OSError:
            shutil.copyfile(source, path)
