"""Stream large texts from archives, and cut parts by word numbers."""

import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from recency.errors import InputError
from recency.text.utf8 import decoded_chunks, decoded_file


def chunks(path: Path) -> Iterator[str]:
    """Yield the text of a file in chunks: plain, gzipped, or the single file of a zip archive."""
    if path.suffix != ".zip":
        yield from decoded_file(path)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise InputError(
                    f"{path} has {len(names)} files, not one; supply the original archive"
                )
            with archive.open(names[0]) as file:
                yield from decoded_chunks(file, f"{path}, {names[0]}")
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path} is damaged, or no zip ({error}); get it again") from error


def cut_words(
    documents: Iterable[tuple[str, str]], words: Sequence[int | None] | None
) -> Iterator[tuple[str, str]]:
    """Yield the documents from word `words[0]` up to `words[1]` (exclusive) of the text, from 0.

    Words are separated by blanks; documents at the limits are cut. An end of None is that of the text;
    without `words` all documents are yielded unchanged. Raises InputError if the text is too short.
    """
    if words is None:
        yield from documents
        return
    first, last = words
    if last is not None and last <= first:
        raise InputError(f"words: {list(words)} is empty; the second is where the part ends")
    done = 0
    for name, text in documents:
        split_words = text.split()
        start = max(first - done, 0)
        end = len(split_words) if last is None else min(last - done, len(split_words))
        if start < end:
            yield (
                name,
                text if (start, end) == (0, len(split_words)) else " ".join(split_words[start:end]),
            )
        done += len(split_words)
        if last is not None and done >= last:
            return
    if last is not None or done <= first:
        end = "the end" if last is None else f"{last:,}"
        raise InputError(
            f"words: {first:,} to {end} are requested, but the text has {done:,}; supply the whole text"
        )
