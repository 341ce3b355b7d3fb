"""Decode UTF-8 text, from bytes or from files in chunks; errors name the invalid byte."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from recency.errors import InputError

CHUNK = 1 << 20


def decoded(data: bytes, name: str | Path) -> str:
    """Decode UTF-8 without byte order mark, with line ends as LF; errors name the invalid byte."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(name, error, error.start) from error
    return text.replace("\r\n", "\n")


def decoded_file(path: Path) -> Iterator[str]:
    """Yield a text file's characters in chunks, gzipped or not, independent of its name."""
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            yield from decoded_chunks(gzip.GzipFile(fileobj=file) if zipped else file, path)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(
                f"{path}: the gzip is damaged or truncated ({error}); fetch or copy it again"
            ) from error


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) of each line of a file, gzipped or not."""
    done, rest = 0, ""
    for chunk in decoded_file(path):
        *whole, rest = (rest + chunk).split("\n")
        yield from enumerate(whole, done + 1)
        done += len(whole)
    if rest:
        yield done + 1, rest


def decoded_chunks(file: BinaryIO, name: str | Path) -> Iterator[str]:
    """Yield an open file's text in chunks, as in `decoded`."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, first = 0, True
    held = ""
    while True:
        data = file.read(CHUNK)
        pending = len(decoder.getstate()[0])
        try:
            text = held + decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise _not_utf8(name, error, offset - pending + error.start) from error
        offset += len(data)
        # Keep a final carriage return for the next chunk.
        held = "\r" if text.endswith("\r") and data else ""
        text = text.removesuffix(held).replace("\r\n", "\n")
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        if text:
            yield text
        if not data:
            return


def _not_utf8(name: str | Path, error: UnicodeDecodeError, offset: int) -> InputError:
    """Return the error for a byte at `offset` in `name`."""
    return InputError(
        f"{name} is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {offset}; "
        "convert it, for instance with `iconv -f latin1 -t utf-8`"
    )
