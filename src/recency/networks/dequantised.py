"""Copies of small GGUF files as ordinary checkpoints, in a user's cache.

transformers reads a GGUF file's header in Python, three times: 25 s for 49,000 tokens, of which the
weights take 2. A copy has the dequantised weights in float32 and the tokenizer. It is named after
the SHA-256 of the file and the versions of what converted it; its own files are verified by SHA-256
at each use. Where nothing can be stored, the file is converted each time.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from safetensors import SafetensorError

from recency.digests import sha256
from recency.networks import gguf_files
from recency.networks.hub import locate
from recency.networks.tested import cache_folder

LIMIT = 500_000_000
"""Numbers of a network beyond which no copy is stored: 2 GB in float32."""
ROOM = 2 * 2**30
"""Bytes of all copies; those used last are kept."""
_PACKAGES = ("transformers", "gguf", "tokenizers")
_MANIFEST = "sha256.json"
_UNFINISHED = "part-"


def find(source: str | Path, part: str) -> Path | None:
    """Return the folder of a GGUF file's copy.

    Parameters
    ----------
    source
        The checkpoint, as for `recency.networks.hub.locate`.
    part
        "network" or "tokenizer".

    Returns
    -------
    Path or None
        None for a checkpoint that is no GGUF file, or of which there is no whole copy.
    """
    if (folder := _folder(source, part)) is None:
        return None
    try:
        stated = json.loads((folder / _MANIFEST).read_text())
        if not stated or any(sha256(folder / name) != value for name, value in stated.items()):
            raise ValueError
    except (OSError, ValueError, AttributeError):
        shutil.rmtree(folder, ignore_errors=True)  # another will be stored
        return None
    with suppress(OSError):
        os.utime(folder)
    return folder


def store(source: str | Path, part: str, save: Callable[[Path], object]) -> None:
    """Store the copy of a GGUF file; no other checkpoint has one.

    Parameters
    ----------
    source
        The checkpoint.
    part
        "network" or "tokenizer".
    save
        Writes the files of this part into a folder.
    """
    if (folder := _folder(source, part)) is None:
        return
    with suppress(OSError, SafetensorError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=_UNFINISHED, dir=folder.parent, ignore_cleanup_errors=True
        ) as written:
            whole = Path(written, part)
            whole.mkdir()
            save(whole)
            digests = {path.name: sha256(path) for path in sorted(whole.iterdir())}
            (whole / _MANIFEST).write_text(json.dumps(digests))
            whole.rename(folder)  # refused if another process was first
        _make_room(folder.parent)


def _make_room(cache: Path) -> None:
    """Remove the copies that were used first, and what a killed process left a day ago."""
    room = ROOM
    for folder in sorted(cache.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True):
        if folder.name.startswith(_UNFINISHED):
            if time.time() - folder.stat().st_mtime > 86_400:
                shutil.rmtree(folder, ignore_errors=True)
            continue
        room -= sum(path.stat().st_size for path in folder.iterdir())
        if room < 0:
            shutil.rmtree(folder, ignore_errors=True)


def _folder(source: str | Path, part: str) -> Path | None:
    """Return the folder of a copy; None without a GGUF file here, or a home."""
    cache = cache_folder("dequantised")
    if cache is None or "gguf_file" not in locate(source)[1]:
        return None
    with suppress(OSError, PackageNotFoundError):
        versions = [f"{name} {version(name)}" for name in _PACKAGES]
        made = [sha256(gguf_files.fetch(source)), sha256(gguf_files.__file__), *versions]
        return cache / f"{hashlib.sha256(json.dumps(made).encode()).hexdigest()}-{part}"
    return None
