"""The user's own plain text: UTF-8 files, gzipped or not."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from recency.errors import InputError
from recency.text.utf8 import decoded_file

CHOICES = {"documents": ("file", "blank_line", "line")}
# Maximum characters per document, which bounds memory.
LONGEST = 1 << 24


def read(
    paths: list[Path], documents: str = "file", longest: int = LONGEST
) -> Iterator[tuple[str, str]]:
    """Yield each document: a `file`, a part between `blank_line`s, or a `line`.

    Documents over `longest` characters are split at a line break (else a blank, else anywhere). An
    empty file is an error.
    """
    split = {"file": _cut, "blank_line": _paragraphs, "line": lines}.get(documents)
    if split is None:
        raise InputError(f"documents: {documents!r} is not one of file, blank_line, line")
    for path in paths:
        number = 0
        for text in split(decoded_file(path), longest):
            if text.strip():
                number += 1
                name = path.name.removesuffix(".gz").removesuffix(".txt")
                yield name if number == 1 and split is _cut else f"{name}-{number}", text
        if number == 0:
            raise InputError(f"{path} is empty, or has nothing but blanks; correct or remove it")


def _cut(chunks: Iterable[str], longest: int) -> Iterator[str]:
    text = ""
    for chunk in chunks:
        text += chunk
        while len(text) > longest:
            end = text.rfind("\n", 0, longest) + 1 or text.rfind(" ", 0, longest) or longest
            end = end if end > 0 else longest
            yield text[:end]
            text = text[end:]
    yield text


def lines(chunks: Iterable[str], longest: int = LONGEST) -> Iterator[str]:
    """Yield the lines of a text without line breaks; lines over `longest` characters are split."""
    text = ""
    for chunk in chunks:
        *complete, text = (text + chunk).split("\n")
        for line in complete:
            yield from _cut([line], longest)
        *pieces, text = _cut([text], longest)
        yield from pieces
    yield text


def _paragraphs(chunks: Iterable[str], longest: int) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for line in lines(chunks, longest):
        if held and (not line.strip() or size + len(line) > longest):
            yield "\n".join(held)
            held, size = [], 0
        if line.strip():
            held.append(line)
            size += len(line) + 1
    yield "\n".join(held)
