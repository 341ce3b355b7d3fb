"""Download a file over HTTP: resume partial downloads, retry failures, and verify the result.

Written for this project because pooch 1.9.0 restarts broken downloads and supports no byte range,
and huggingface_hub 2.4.0 fetches only whole files of the Hub, without If-Range and without a
checksum.
"""

import contextlib
import hashlib
import http.client
import json
import os
import shutil
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from readingtimes.errors import InputError, first_line
from readingtimes.files import atomic, full_disk, no_room
from readingtimes.progress import progress

CHUNK = 1 << 20
#: Fewest bytes that must arrive within `patience` seconds, 300 by default.
LEAST = 10_000
#: Most bytes of a file whose length neither the config nor the server states.
MOST = 4 * 10**9
USER_AGENT = "readingtimes (reading corpora)"


def endpoint() -> str:
    """Return the address of the Hugging Face Hub, or of the mirror that HF_ENDPOINT names."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def authorization(url: str) -> dict[str, str]:
    """Return the header with the user's token (HF_TOKEN), for addresses of the Hub alone."""
    token = os.environ.get("HF_TOKEN")
    is_hub = url.startswith(f"{endpoint()}/")
    return {"Authorization": f"Bearer {token}"} if token and is_hub else {}


@dataclass(frozen=True)
class Expected:
    """Expected checksums and size of the file or byte range; None where unknown."""

    sha256: str | None = None
    git_blob: str | None = None
    size: int | None = None
    md5: str | None = None
    of_first: bool = False
    """whether sha256 is that of the first download, not of the publisher"""

    def mismatch(self, path: Path) -> str | None:
        """Return how the file differs from the expected one; None if it does not."""
        size = path.stat().st_size
        if self.size is not None and size != self.size:
            return f"expected {self.size:,} bytes, got {size:,}"
        digests = []
        if self.sha256:
            digests.append(("sha256", self.sha256, hashlib.sha256()))
        if self.md5:
            digests.append(("md5", self.md5, hashlib.md5(usedforsecurity=False)))
        if self.git_blob:
            digests.append(("git blob id", self.git_blob, hashlib.sha1(b"blob %d\0" % size)))
        with open(path, "rb") as stream:
            while digests and (chunk := stream.read(CHUNK)):
                for _, _, digest in digests:
                    digest.update(chunk)
        for name, expected, digest in digests:
            if digest.hexdigest() != expected.lower():
                of = ", that of the first download" if self.of_first else ""
                return f"expected {name} {expected.lower()}{of}, got {digest.hexdigest()}"
        return None


class _Temporary(Exception):
    """A failure that may be temporary."""


class _Pace:
    """Closes the connections of a download that is slower than LEAST bytes in `patience` seconds.

    A socket timeout does not catch a server that sends a byte before each timeout ends.
    """

    def __init__(self, patience: float):
        self.patience, self.done, self.slow = patience, 0, False
        self._sockets: list[socket.socket] = []
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()

    def open(self, request: urllib.request.Request, timeout: float):
        """Open a request with urllib, on monitored connections."""
        handlers = [_handler(kind, self._sockets) for kind in _HANDLERS]
        return urllib.request.build_opener(*handlers).open(request, timeout=timeout)

    def _watch(self) -> None:
        before = 0
        while not self._ended.wait(self.patience):
            if self.done - before < LEAST:
                self.slow = True
                for connection in self._sockets:
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
                return
            before = self.done


#: urllib's handlers: method name and connection class.
_HANDLERS = {
    urllib.request.HTTPHandler: ("http_open", http.client.HTTPConnection),
    urllib.request.HTTPSHandler: ("https_open", http.client.HTTPSConnection),
}


def _handler(kind: type, sockets: list[socket.socket]) -> urllib.request.BaseHandler:
    """Return an urllib handler that records its connections' sockets."""
    method, connection = _HANDLERS[kind]

    class Connection(connection):
        def connect(self) -> None:
            super().connect()
            sockets.append(self.sock)

    handler = kind()
    setattr(handler, method, lambda request: handler.do_open(Connection, request))
    return handler


def download(
    url: str,
    out: Path,
    expected: Expected,
    byte_range: tuple[int, int] | None,
    tries: int,
    wait: float,
    timeout: float,
    patience: float,
    hint: str,
) -> None:
    """Download into `<out>.part`, which later attempts and jobs resume, then check and rename it.

    The download ends after `tries` attempts in a row without a new byte (with pauses of `wait`
    seconds, doubled each time), or with fewer than LEAST bytes in `patience` seconds. `hint` is the
    end of an InputError's message: the user's alternatives.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(out.name + ".part")
    state = out.with_name(out.name + ".part.json")
    source = {"url": url, "byte_range": list(byte_range) if byte_range else None}
    record = _load(state)
    if not part.exists() or {key: record.get(key) for key in source} != source:
        part.unlink(missing_ok=True)
        record = source
    resumed = part.exists() and part.stat().st_size > 0
    failures = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            with _Pace(patience) as pace:
                pieces = _fetch(url, part, state, record, expected, byte_range, timeout, pace, hint)
            resumed = resumed or pieces
        except (_Temporary, OSError, http.client.HTTPException) as error:
            if full_disk(error):  # the part file remains
                raise no_room(part) from error
            if pace.slow:
                raise InputError(
                    f"{url}: {pace.done:,} bytes came, fewer than {LEAST:,} in the last {patience:g} s; "
                    f"try again later to resume, {hint}"
                ) from error
            resumed = True
            record = _load(state) or source
            now = part.stat().st_size if part.exists() else 0
            failures = 0 if now > before else failures + 1
            if failures >= tries:
                reason = f"{error or type(error).__name__}, {tries} times in a row"
                raise InputError(
                    f"{url}: no download ({reason}); try again later, {hint}"
                ) from error
            pause = wait * 2 ** max(failures - 1, 0)
            print(f"{url}: {error or type(error).__name__}; again in {pause:g} s", file=sys.stderr)
            time.sleep(pause)
            continue
        wrong = expected.mismatch(part)
        if wrong is None:
            break
        part.unlink()
        state.unlink(missing_ok=True)
        if not resumed:
            raise InputError(
                f"{url} is not the file that is needed: {wrong}; it may have changed since, so "
                f"check the URL and its checksum in the config, {hint}"
            )
        # The part file may mix two versions of the file: download it again from the start.
        print(f"{url}: {wrong}; again from the start", file=sys.stderr)
        resumed, record, failures = False, source, 0
    os.replace(part, out)
    state.unlink(missing_ok=True)


def _is_complete(
    error: urllib.error.HTTPError, url: str, part: Path, first: int, have: int, hint: str
) -> bool:
    """Return that a part file is whole, as an HTTP error may say; raise the failure for others."""
    if error.code == 416 and have:
        # Either the part file is complete, or it does not belong to this file.
        if error.headers.get("Content-Range", "").endswith(f"/{first + have}"):
            return True
        part.unlink()
        raise _Temporary("the part file did not fit") from error
    if error.code in (408, 425, 429) or error.code >= 500:
        raise _Temporary(f"HTTP {error.code} {error.reason}") from error
    answer = f"HTTP {error.code} {error.reason}"
    raise InputError(f"{url} answers {answer}: correct the URL, {hint}") from error


def _require_room(url: str, part: Path, more: int, hint: str) -> None:
    """Raise InputError if the rest of a file does not fit onto the disk."""
    free = shutil.disk_usage(part.parent).free
    if more > free:
        raise InputError(
            f"{url} has {more:,} bytes more to download, and {free:,} are free in {part.parent}; free some "
            f"space, {hint}"
        )


def _load(state: Path) -> dict:
    try:
        return json.loads(state.read_text())
    except (OSError, ValueError):
        return {}


def _fetch(
    url: str,
    part: Path,
    state: Path,
    record: dict,
    expected: Expected,
    byte_range: tuple[int, int] | None,
    timeout: float,
    pace: _Pace,
    hint: str,
) -> bool:
    """Request the missing bytes of `part`; return whether it has parts of several requests."""
    have = part.stat().st_size if part.exists() else 0
    if expected.size is not None and have >= expected.size:
        if have > expected.size:
            part.unlink()
            raise _Temporary(f"{part.name} is too long")
        return True
    first, last = byte_range or (0, None)
    request = urllib.request.Request(url)
    request.add_header("User-Agent", USER_AGENT)
    request.add_header("Accept-Encoding", "identity")
    for header, value in authorization(url).items():
        request.add_unredirected_header(header, value)
    if have or byte_range:
        request.add_header("Range", f"bytes={first + have}-{'' if last is None else last}")
        if have and record.get("validator"):
            request.add_header("If-Range", record["validator"])
    try:
        answer = pace.open(request, timeout)
    except urllib.error.HTTPError as error:
        with error:
            return _is_complete(error, url, part, first, have, hint)
    except (ValueError, http.client.InvalidURL) as error:  # of the URL, or of where it redirects to
        raise InputError(
            f"{url} leads to no address ({first_line(error)}): correct the URL, {hint}"
        ) from error
    with answer:
        length = answer.headers.get("Content-Length")
        length = int(length) if length and length.isdigit() else None
        skip = 0
        if answer.status == 206:
            got = answer.headers.get("Content-Range", "").removeprefix("bytes").strip()
            if not got.startswith(f"{first + have}-"):
                part.unlink(missing_ok=True)
                raise _Temporary(f"asked for bytes from {first + have}, got {got or 'no range'}")
        else:
            # The server ignored the range, or the file changed: restart, and skip to the range.
            have, skip = 0, first
            if length is not None:
                length -= skip
        total = expected.size if length is None or byte_range else have + length
        if expected.size is not None:  # a longer file is another one
            total = min(total, expected.size + 1)
        _require_room(url, part, (total or 0) - have, hint)
        validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        if validator and validator.startswith("W/"):
            validator = None
        with atomic(state) as temporary:  # a full disk would otherwise leave an empty file
            temporary.write_text(json.dumps({**record, "validator": validator}))
        name = part.name.removesuffix(".part")
        line = progress(total / 1e6, f"download {name}", "MB") if total else None
        done = have
        with open(part, "r+b" if have else "wb") as sink:
            sink.seek(have)
            while skip and (chunk := answer.read(min(CHUNK, skip))):
                skip -= len(chunk)
                pace.done += len(chunk)
            while total is None or done < total:
                chunk = answer.read1(CHUNK if total is None else min(CHUNK, total - done))
                if not chunk:
                    break
                sink.write(chunk)
                done += len(chunk)
                pace.done += len(chunk)
                if total is None and done > MOST:
                    part.unlink()
                    raise InputError(
                        f"{url} does not end after {MOST:,} bytes, and the server states no length; if it is "
                        f"so long, set its `bytes`, {hint}"
                    )
                if line:
                    line.update(done / 1e6)
    if pace.slow or (total is not None and done < total):
        raise _Temporary(f"the connection ended after {done:,} of {total or 0:,} bytes")
    return have > 0
