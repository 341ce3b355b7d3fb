"""SHA-256 of files, each computed once per run.

A small file remembers a digest with the inode, size and times of modification and of change for which
it was computed. The last of these cannot be set back.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a file atomically.

    readingtimes.files.atomic does more, but results depend on its code (recency.workflow.plan.code).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def digest(path: str | Path, memory: Path | None = None) -> str:
    """Return the SHA-256 of a file; of a folder, that of its files' names and digests.

    Parameters
    ----------
    path : path
        The file or folder; hidden files in a folder do not count.
    memory : Path, optional
        The file that remembers the digest.
    """
    if os.path.isdir(path):
        files = sorted(p for p in Path(path).rglob("*") if p.is_file() and p.name[0] != ".")
        lines = [f"{sha256(p)} {p.relative_to(path).as_posix()}\n" for p in files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    stat = _stat(path)
    stored = _read_memory(memory)
    if stored.get("stat") == stat:
        return stored["sha256"]
    value = sha256(path)
    if _stat(path) == stat:
        _store(memory, stat, value)
    return value


def confirm(path: str | Path, memory: Path | None) -> None:
    """Remember the present times of a file that has only been touched since its digest was computed."""
    stored = _read_memory(memory)
    with suppress(OSError):
        now = _stat(path)
        if stored and stored["stat"][:2] == now[:2]:
            _store(memory, now, stored["sha256"])


def _stat(path: str | Path) -> list[int]:
    stat = os.stat(path)
    return [stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _read_memory(memory: Path | None) -> dict[str, Any]:
    try:
        stored = json.loads(memory.read_text()) if memory else {}
        return stored if stored.keys() == {"stat", "sha256"} else {}
    except (OSError, ValueError, AttributeError):
        return {}


def _store(memory: Path | None, stat: list[int], value: str) -> None:
    if memory:
        with suppress(OSError):  # it can be computed again
            write_text(memory, json.dumps({"stat": stat, "sha256": value}))
