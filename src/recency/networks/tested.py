"""Which checkpoints passed their test (`recency.networks.self_test`), by digest, in a user's cache.

A record is a small file in $RECENCY_CACHE, else $XDG_CACHE_HOME/recency, else ~/.cache/recency. It
is found by the checkpoint's files (path, size, times, inode) without reading them, else by the
SHA-256 of their content. Where nothing can be stored, the test runs again.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

#: Increased when the test changes.
TEST = 1
_PACKAGES = ("torch", "transformers", "safetensors", "tokenizers")


class Record:
    """The record of one checkpoint, opened in one way.

    Parameters
    ----------
    files
        The config and the weights.
    settings
        How it is opened: precision, class, device.
    """

    def __init__(self, files: Iterable[Path], settings: Iterable[object]):
        self.files = sorted({path.resolve() for path in files})
        versions = [f"{name} {version(name)}" for name in _PACKAGES]
        self.settings = [TEST, *versions, *map(str, settings)]
        self.folder = cache_folder("tested") if self.files else None

    def passed(self) -> bool:
        """Return whether this checkpoint passed before."""
        if self.folder is None:
            return False
        with suppress(OSError, ValueError, KeyError, TypeError):
            digest = json.loads(self._of_state().read_text())["sha256"]
            return self._of_digest(digest).is_file()
        with suppress(OSError):
            digest = self._digest()
            if self._of_digest(digest).is_file():
                self._write(self._of_state(), {"sha256": digest})
                return True
        return False

    def store(self) -> None:
        """Record that this checkpoint passed, if the folder can be written."""
        if self.folder is None:
            return
        with suppress(OSError):
            digest = self._digest()
            files = [path.name for path in self.files]
            about = {"sha256": digest, "files": files, "settings": self.settings}
            self._write(self._of_digest(digest), about)
            self._write(self._of_state(), {"sha256": digest})

    def _digest(self) -> str:
        """Return the SHA-256 of the files' names and content."""
        if not hasattr(self, "_content"):
            self._content = _hash([(path.name, _sha256(path)) for path in self.files])
        return self._content

    def _of_digest(self, digest: str) -> Path:
        return self.folder / f"{_hash([digest, self.settings])}.json"

    def _of_state(self) -> Path:
        """Return the record of the files' state, which any edit changes."""
        states = [(str(path), path.stat()) for path in self.files]
        fields = ("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev")
        keys = [(path, *(getattr(state, name) for name in fields)) for path, state in states]
        return self.folder / f"files-{_hash([keys, self.settings])}.json"

    def _write(self, path: Path, content: dict) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as part:
            part.write(json.dumps(content))
        os.replace(part.name, path)


def cache_folder(name: str) -> Path | None:
    """Return a folder in a user's cache, None without a home."""
    if given := os.environ.get("RECENCY_CACHE"):
        return Path(given) / name
    with suppress(RuntimeError):
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache) / "recency" / name
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
