"""Text8 (Mahoney 2011): the first 100 MB of filtered Wikipedia, only letters a to z and single blanks.

The file is text8 or text8.zip; fil9, of all of enwik9, has the same format.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from recency.errors import InputError
from recency.text.cuts import chunks, cut_words

#: Words per document, because article boundaries are not marked.
BLOCK = 10_000
WRONG = re.compile(r"[^a-z ]")


def read(
    paths: list[Path], characters: int = 0, words: Sequence[int | None] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield blocks of 10,000 words; `words` is the range (from, to) to read.

    Raises InputError for any other character, with its offset, and if the files do not have
    `characters` characters in total, without a final line break.
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
                    "or a blank; supply the original text8, or use another reader"
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
