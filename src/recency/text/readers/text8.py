"""Text8 (Mahoney 2011): the first 100 MB of filtered Wikipedia, letters a to z and single blanks alone.

The file is text8 or text8.zip; fil9, of all of enwik9, has the same form.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from recency.errors import InputError
from recency.text.cuts import chunks, cut_words

#: Words of a document: the text has no ends of articles.
BLOCK = 10_000
WRONG = re.compile(r"[^a-z ]")


def read(
    paths: list[Path], characters: int = 0, words: Sequence[int | None] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield blocks of 10,000 words; `words` is the part of them, from and to, that is read.

    Raises InputError for any other character, with its offset, and where all of the files are not
    of so many `characters`, a line end at the end not counted.
    """
    yield from cut_words(_blocks(paths, characters), words)


def _blocks(paths: list[Path], characters: int) -> Iterator[tuple[str, str]]:
    number = size = 0
    held: list[str] = []
    for path in paths:
        offset, rest = 0, ""
        for text in chunks(path):
            text = text.removesuffix("\n")
            if wrong := WRONG.search(text):
                raise InputError(
                    f"{path}: {wrong[0]!r} at character {offset + wrong.start():,} is not a letter a to z "
                    "or a blank; place text8 as it is, or take another reader"
                )
            offset += len(text)
            *complete, rest = (rest + text).split(" ")
            held += filter(None, complete)
            while len(held) >= BLOCK:
                number += 1
                yield f"block-{number}", " ".join(held[:BLOCK])
                del held[:BLOCK]
        held += [rest] if rest else []
        size += offset
    if held:
        yield f"block-{number + 1}", " ".join(held)
    if characters and size != characters:
        raise InputError(
            f"{', '.join(map(str, paths))}: {size:,} characters, not {characters:,}; get it again"
        )
