"""Fetch one file from the user, a mirror or the internet, and check it."""

import gzip
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from readingtimes.downloads import stated
from readingtimes.downloads.addresses import leads_out, split_url
from readingtimes.downloads.internet import CHUNK, Expected, download
from readingtimes.errors import InputError
from readingtimes.files import atomic

#: Largest compression ratio of a gzipped copy of unknown size, as protection against zip bombs;
#: text has about 5.
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
    supplied: str | None = None,
    first: str | None = None,
    tries: int = 6,
    wait: float = 1.0,
    timeout: float = 60.0,
    patience: float = 300.0,
) -> None:
    """Write the file to `out` from the first source that has it.

    The sources, in order: `local`, the mirrors, the `stand_in`, the internet. Copies may be gzipped
    (`.gz`); checksums are of the uncompressed bytes.

    Parameters
    ----------
    url : str or None
        The address; in a mirror the file is `<mirror>/<host>/<path of the URL>`.
    out : path
    sha256, git_blob, md5, bytes
        Expected checksums and size.
    byte_range : (int, int), optional
        First and last byte, inclusive; a copy may be the whole file or only the range.
    mirrors : iterable of path
        Folders with copies.
    stand_in : mapping, optional
        A substitute for the file: `path` in a mirror, and `sha256`.
    local : path, optional
        The user's copy.
    supplied : str, optional
        Description and source of a file without a URL.
    first : str, optional
        SHA-256 of the first download, for a file without a checksum of its publisher or ours.
    tries : int
        A download ends after so many attempts in a row without a new byte.
    wait : float
        Pause after the first failed attempt, seconds; it doubles after each.
    timeout : float
        Seconds without an answer.
    patience : float
        Seconds within which readingtimes.downloads.internet.LEAST bytes must arrive.
    """
    out = Path(out)
    for path in filter(None, (url, stand_in and stand_in["path"])):
        if leads_out(path):
            raise InputError(f"{out.name}: {path} leads out of its folder; correct the path")
    mirrors = [Path(mirror).expanduser() for mirror in mirrors]
    if byte_range is not None:
        start, last = byte_range
        if not 0 <= start <= last:
            raise InputError(f"{out.name}: byte_range [{start}, {last}] is not [first, last]")
        bytes = last - start + 1
    expected = Expected(sha256, git_blob, bytes, md5)
    if url is not None and not (sha256 or git_blob or md5):
        expected = _without_ours(url, expected, byte_range is None, first)

    # A stand-in may replace a missing `local` file.
    if local is not None and (stand_in is None or Path(local).expanduser().is_file()):
        path = Path(local).expanduser()
        if not path.is_file():
            if supplied:
                raise InputError(f"{out.name} is not here: {supplied}. Put it at {local}")
            raise InputError(f"{out.name}: `local: {local}` is not a file; correct or remove it")
        return _copy(path, out, expected, byte_range, "correct `local` or its checksum")
    if url is not None and (path := _find_in_mirrors(mirrors, _mirror_paths(url))):
        return _copy(path, out, expected, byte_range, "put the right file there or remove it")
    if stand_in is not None and (path := _find_in_mirrors(mirrors, [stand_in["path"]])):
        print(f"{out.name}: the stand-in {path} is used in place of {url or 'the original'}")
        print(f"stand-in {path} for {url or supplied}", file=sys.stderr)
        expected = Expected(stand_in.get("sha256"))
        return _copy(path, out, expected, None, "put the right stand-in there or remove it")
    if url is None:
        raise InputError(_request_file(out, mirrors, stand_in, supplied, local))

    hint = _describe_alternatives(url, mirrors)
    if split_url(url).scheme not in ("http", "https"):
        raise InputError(f"{url}: only http and https are downloaded; {hint}")
    download(url, out, expected, byte_range, tries, wait, timeout, patience, hint)


def _without_ours(url: str, expected: Expected, whole: bool, first: str | None) -> Expected:
    """Return the checksum for a file whose entry has none, and log which one it is.

    It is the publisher's, which the Hugging Face Hub states for whole files, or else that of the
    first download.
    """
    if whole and "/resolve/" in url and split_url(url).scheme in ("http", "https"):
        answer = stated.of(url)
        if answer.sha256 or answer.git_blob:
            print(f"{url}: compared with the checksum that the Hub states", file=sys.stderr)
            return replace(
                expected,
                sha256=answer.sha256,
                git_blob=answer.git_blob,
                size=expected.size or answer.size,
            )
    if first:
        print(f"{url}: compared with the first download; no checksum is published", file=sys.stderr)
        return replace(expected, sha256=first, of_first=True)
    print(
        f"{url}: no checksum is published; this download's is recorded, and later ones are compared with it",
        file=sys.stderr,
    )
    return expected


# ---------------------------------------------------------------- copies


def _mirror_paths(url: str) -> list[str]:
    """Return the file's paths in a mirror: `<host>/<path>`, as written and unquoted."""
    parts = split_url(url)
    path = "/".join(part for part in parts.path.split("/") if part not in ("", ".", ".."))
    return list(dict.fromkeys(f"{parts.hostname}/{p}" for p in (path, unquote(path))))


def _find_in_mirrors(mirrors: list[Path], names: list[str]) -> Path | None:
    for mirror in mirrors:
        if not mirror.is_dir():
            print(f"mirror {mirror} is not a folder: skipped", file=sys.stderr)
        for name in names:
            for path in (mirror / name, mirror / f"{name}.gz"):
                if path.is_file():
                    return path
    return None


def _describe_alternatives(url: str, mirrors: list[Path]) -> str:
    folder = f"{mirrors[0]}" if mirrors else "<mirror>"
    return (
        f"or put the file at {folder}/{_mirror_paths(url)[0]} (`mirror:` in the config, "
        "$RECENCY_MIRROR or the argument `mirrors` names the folder), or name your copy with `local:` in the config"
    )


def _request_file(
    out: Path,
    mirrors: list[Path],
    stand_in: Mapping[str, str] | None,
    supplied: str | None,
    local: str | Path | None,
) -> str:
    places = [f"put it at {local}" if local else "name it with `local:` in the config"]
    if stand_in is not None:
        folders = [str(mirror) for mirror in mirrors] or ["<mirror>"]
        places.append("or put it at " + " or ".join(f"{f}/{stand_in['path']}" for f in folders))
    described = supplied or "no URL is known for it"
    return f"{out.name} cannot be downloaded and is not here. {described}. To use it, {', '.join(places)}."


def _is_gzipped(path: Path, out: Path) -> bool:
    """Return whether a copy is gzipped and the original is not."""
    return path.suffix == ".gz" and out.suffix != ".gz"


@contextmanager
def _open_copy(path: Path, out: Path) -> Iterator[BinaryIO]:
    """Open a copy, decompressing it if necessary."""
    with gzip.open(path, "rb") if _is_gzipped(path, out) else open(path, "rb") as stream:
        yield stream


def _size_limit(
    path: Path, out: Path, expected: Expected, byte_range: tuple[int, int] | None
) -> float:
    """Return the largest allowed size of a decompressed copy, in bytes; infinite if not gzipped."""
    if not _is_gzipped(path, out):
        return math.inf
    if expected.size is not None and byte_range is None:
        return expected.size
    return MOST_PACKED * path.stat().st_size + CHUNK


def _copy_stream(stream: BinaryIO, sink: BinaryIO, path: Path, most: float) -> None:
    """Copy a stream; raise InputError above `most` bytes."""
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
            with _open_copy(path, out) as stream, open(temporary, "wb") as sink:
                _copy_stream(stream, sink, path, _size_limit(path, out, expected, byte_range))
            if byte_range is not None and temporary.stat().st_size != expected.size:
                first, last = byte_range
                with _open_copy(path, out) as stream, open(temporary, "wb") as sink:
                    stream.seek(first)
                    left = last - first + 1
                    while left and (chunk := stream.read(min(CHUNK, left))):
                        sink.write(chunk)
                        left -= len(chunk)
        except (EOFError, gzip.BadGzipFile) as error:
            raise InputError(f"{path} is damaged ({error}); {hint}") from error
        if wrong := expected.mismatch(temporary):
            raise InputError(f"{path} is not the file that is needed: {wrong}; {hint}")
