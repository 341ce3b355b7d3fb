"""Copies of small GGUF files as ordinary checkpoints, in a user's cache.

transformers reads a GGUF file's header in Python, three times: 25 s for 49,000 tokens, of which the
weights take 2. A copy has the dequantised weights in float32 and the tokenizer. It is named after
the SHA-256 of the file, computed before the file is opened and again afterwards, and of the code
and versions that converted it. Its own files are verified by SHA-256 at each use. Where nothing can
be stored, the file is converted each time.
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

from recency.digests import sha256
from recency.networks import gguf_files
from recency.networks.hub import locate
from recency.networks.tested import cache_folder

LIMIT = 500_000_000
"""Numbers of a network beyond which no copy is stored: 2 GB in float32."""
ROOM = 2 * 2**30
"""Bytes of all copies; those used last are kept."""
IN_USE = 600
"""Seconds after its last use in which a copy is not removed."""
_CODE = ("networks/*.py", "scoring/tokenizer.py")
_PACKAGES = ("transformers", "gguf", "tokenizers")
_MANIFEST = "sha256.json"
_UNFINISHED = "part-"


class Copy:
    """The copy of one GGUF file, which may not be there yet.

    Parameters
    ----------
    source
        The checkpoint, as for `recency.networks.hub.locate`.
    part
        "network" or "tokenizer".

    Attributes
    ----------
    folder
        Where the copy is or would be; None for a checkpoint that is no GGUF file, or without a cache.
    """

    def __init__(self, source: str | Path, part: str):
        self.folder: Path | None = None
        cache = cache_folder("dequantised")
        if cache is None or "gguf_file" not in locate(source)[1]:
            return
        with suppress(OSError, PackageNotFoundError):
            self._file = gguf_files.fetch(source)
            self._sha256 = sha256(self._file)
            made = [self._sha256, *map(sha256, _code()), *map(version, _PACKAGES)]
            name = hashlib.sha256(json.dumps(made).encode()).hexdigest()
            self.folder = cache / f"{name}-{part}"

    def find(self) -> Path | None:
        """Return the folder of a whole copy, or None."""
        if self.folder is None:
            return None
        try:
            stated = json.loads((self.folder / _MANIFEST).read_text())
            whole = bool(stated)
            for name, value in stated.items():
                whole = whole and sha256(self.folder / name) == value
        except (OSError, ValueError, AttributeError):
            return None
        if not whole:
            return None
        with suppress(OSError):
            os.utime(self.folder)
        return self.folder

    def store(self, save: Callable[[Path], object]) -> None:
        """Store the copy, unless the GGUF file has changed since; `save` writes it into a folder."""
        if self.folder is None:
            return
        cache = self.folder.parent
        with suppress(OSError):
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(
                prefix=_UNFINISHED, dir=cache, ignore_cleanup_errors=True
            ) as written:
                whole = Path(written, self.folder.name)
                whole.mkdir()
                try:
                    save(whole)
                except Exception:  # noqa: BLE001, a full disk raises one of each library's own
                    return
                digests = {path.name: sha256(path) for path in sorted(whole.iterdir())}
                (whole / _MANIFEST).write_text(json.dumps(digests))
                if sha256(self._file) != self._sha256:
                    return
                with suppress(OSError):  # a damaged copy
                    self.folder.rename(Path(written, "damaged"))
                whole.rename(self.folder)
            _make_room(cache)


def _code() -> list[Path]:
    """Return the files whose code decides what is in a copy."""
    package = Path(__file__).parents[1]
    return sorted(path for pattern in _CODE for path in package.glob(pattern))


def _make_room(cache: Path) -> None:
    """Remove the copies that were used first, and what a killed process left a day ago."""
    room, now = ROOM, time.time()
    states = [(path.stat().st_mtime, path) for path in cache.iterdir() if path.is_dir()]
    for used, folder in sorted(states, reverse=True):
        if folder.name.startswith(_UNFINISHED):
            is_old = now - used > 86_400
        else:
            room -= sum(path.stat().st_size for path in folder.iterdir())
            is_old = room < 0 and now - used > IN_USE
        if is_old:
            shutil.rmtree(folder, ignore_errors=True)
