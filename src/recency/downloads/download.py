"""Fetch one file, from the user, a mirror or the internet, and check that it is the right one."""

import gzip
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from recency.downloads.internet import CHUNK, Expected, download
from recency.errors import InputError
from recency.files import atomic
from recency.sources import leads_out

#: Times its size that a gzipped copy may hold, where nothing says how long the file is. Text is
#: packed to a fifth; a thousandth is a bomb.
MOST_PACKED = 200


def main(
    url: str | None,
    out: str | Path,
    sha256: str | None = None,
    git_blob: str | None = None,
    md5: str | None = None,
    bytes: int | None = None,
    byte_range: tuple[int, int] | None = None,
    mirrors: Iterable[str | Path] = (),
    stand_in: Mapping[str, str] | None = None,
    local: str | Path | None = None,
    placed: str | None = None,
    tries: int = 6,
    wait: float = 1.0,
    timeout: float = 60.0,
    patience: float = 300.0,
) -> None:
    """Write the file to `out` from the first place that has it.

    The places: `local`; `<mirror>/<host>/<path of the URL>`; the `stand_in` (`path` in a mirror,
    `sha256`), another file that the reader takes as well; the internet. Copies may be gzipped
    (`.gz`); checksums are of the bytes within. `byte_range` is (first, last), both included; a
    copy may then be the whole file or just the range. `placed` says what a file without a URL is
    and where it can be had. `tries` in a row without a new byte end a download; the pause after
    the first is `wait` seconds, then double; `timeout` is in seconds without an answer, `patience`
    those in which recency.downloads.internet.LEAST bytes have to come.
    """
    out = Path(out)
    for path in filter(None, (url, stand_in and stand_in["path"])):
        if leads_out(path):
            raise InputError(f"{out.name}: {path} leads out of its folder; correct the path")
    mirrors = [Path(mirror).expanduser() for mirror in mirrors]
    if byte_range is not None:
        first, last = byte_range
        if not 0 <= first <= last:
            raise InputError(f"{out.name}: byte_range [{first}, {last}] is not [first, last]")
        bytes = last - first + 1
    expected = Expected(sha256, git_blob, bytes, md5)

    # A file to place, at `local`, may have a stand-in.
    if local is not None and (stand_in is None or Path(local).expanduser().is_file()):
        path = Path(local).expanduser()
        if not path.is_file():
            if placed:
                raise InputError(f"{out.name} is not here: {placed}. Put it at {local}")
            raise InputError(f"{out.name}: `local: {local}` is not a file; correct or remove it")
        return _copy(path, out, expected, byte_range, "correct `local` or its checksum")
    if url is not None and (path := _in_mirrors(mirrors, _mirrored(url))):
        return _copy(path, out, expected, byte_range, "put the right file there or remove it")
    if stand_in is not None and (path := _in_mirrors(mirrors, [stand_in["path"]])):
        print(f"{out.name}: the stand-in {path} is used in place of {url or 'the original'}")
        print(f"stand-in {path} for {url or placed}", file=sys.stderr)
        known = Expected(stand_in.get("sha256"))
        return _copy(path, out, known, None, "put the right stand-in there or remove it")
    if url is None:
        raise InputError(_to_place(out, mirrors, stand_in, placed, local))

    hint = _way_out(url, mirrors)
    if urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"{url}: only http and https are downloaded; {hint}")
    download(url, out, expected, byte_range, tries, wait, timeout, patience, hint)


# ---------------------------------------------------------------- copies


def _mirrored(url: str) -> list[str]:
    """Where a mirror keeps the URL's file: `<host>/<path>`, as written and unquoted."""
    parts = urlsplit(url)
    path = "/".join(part for part in parts.path.split("/") if part not in ("", ".", ".."))
    return list(dict.fromkeys(f"{parts.hostname}/{p}" for p in (path, unquote(path))))


def _in_mirrors(mirrors: list[Path], names: list[str]) -> Path | None:
    for mirror in mirrors:
        if not mirror.is_dir():
            print(f"mirror {mirror} is not a folder: skipped", file=sys.stderr)
        for name in names:
            for path in (mirror / name, mirror / f"{name}.gz"):
                if path.is_file():
                    return path
    return None


def _way_out(url: str, mirrors: list[Path]) -> str:
    folder = f"{mirrors[0]}" if mirrors else "<mirror>"
    return (
        f"or put the file at {folder}/{_mirrored(url)[0]} (`mirror:` in the config, or "
        "$RECENCY_MIRROR, names the folder), or name your copy with `local:` in the config"
    )


def _to_place(
    out: Path,
    mirrors: list[Path],
    stand_in: Mapping[str, str] | None,
    placed: str | None,
    local: str | Path | None,
) -> str:
    places = [f"put it at {local}" if local else "name it with `local:` in the config"]
    if stand_in is not None:
        folders = [str(mirror) for mirror in mirrors] or ["<mirror>"]
        places.append("or put it at " + " or ".join(f"{f}/{stand_in['path']}" for f in folders))
    what = placed or "no URL is known for it"
    return (
        f"{out.name} cannot be downloaded and is not here. {what}. To use it, {', '.join(places)}."
    )


def _packed(path: Path, out: Path) -> bool:
    """Say whether a copy is gzipped and the original is not."""
    return path.suffix == ".gz" and out.suffix != ".gz"


@contextmanager
def _opened(path: Path, out: Path) -> Iterator[BinaryIO]:
    """Open a copy, unzipped on the way if need be."""
    with gzip.open(path, "rb") if _packed(path, out) else open(path, "rb") as stream:
        yield stream


def _most(path: Path, out: Path, expected: Expected, byte_range: tuple[int, int] | None) -> float:
    """Return how many bytes a copy may hold: no more than are expected, if it has to be unzipped."""
    if not _packed(path, out):
        return math.inf
    if expected.size is not None and byte_range is None:
        return expected.size
    return MOST_PACKED * path.stat().st_size + CHUNK


def _pour(stream: BinaryIO, sink: BinaryIO, path: Path, most: float) -> None:
    """Copy a stream to its end, at most so many bytes."""
    while chunk := stream.read(CHUNK):
        if sink.tell() + len(chunk) > most:
            raise InputError(
                f"{path} unpacks to more than {most:,.0f} bytes and is not the file that is needed; "
                "unpack it yourself if you trust it"
            )
        sink.write(chunk)


def _copy(
    path: Path, out: Path, expected: Expected, byte_range: tuple[int, int] | None, hint: str
) -> None:
    print(f"{out.name}: from {path}", file=sys.stderr)
    with atomic(out) as temporary:
        try:
            with _opened(path, out) as stream, open(temporary, "wb") as sink:
                _pour(stream, sink, path, _most(path, out, expected, byte_range))
            if byte_range is not None and temporary.stat().st_size != expected.size:
                first, last = byte_range
                with _opened(path, out) as stream, open(temporary, "wb") as sink:
                    stream.seek(first)
                    left = last - first + 1
                    while left and (chunk := stream.read(min(CHUNK, left))):
                        sink.write(chunk)
                        left -= len(chunk)
        except (EOFError, gzip.BadGzipFile) as error:
            raise InputError(f"{path} is damaged ({error}); {hint}") from error
        if wrong := expected.mismatch(temporary):
            raise InputError(f"{path} is not the file that is needed: {wrong}; {hint}")
