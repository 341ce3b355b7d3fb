"""Which passages a text has, as numbers, so that two texts can be compared without being kept.

A passage is eight words in a row of a document, without case and punctuation, as in the comparison of
test texts with WebText by Radford et al. (2019, section 4). There test texts share 1 to 6 % of their
passages with an unrelated training text, and up to 13 % with the training part of their own corpus.
A text that was trained on shares all of them, however it is cut into documents and lines.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recency.errors import InputError

#: Words of a passage.
LENGTH = 8
#: Numbers that are kept of a text, at most: 8 MB. Of longer texts those below a bound are kept.
MOST = 1 << 20
#: Passages of an evaluated text that have to be compared before anything is concluded.
LEAST = 8
#: Words that are numbered at once, and words whose numbers are remembered.
AT_ONCE = 1 << 18
_FACTOR, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True)
class Passages:
    """The passages of a text: sorted numbers whose first `bits` bits are 0."""

    numbers: np.ndarray
    bits: int = 0

    def share_in(self, other: Passages) -> float | None:
        """Return the share of these passages that another text has; None of too few to say."""
        bits = max(self.bits, other.bits)
        own = _below(self.numbers, bits)
        if len(own) < LEAST:
            return None
        return float(np.isin(own, other.numbers, assume_unique=True).mean())

    def save(self, folder: str | Path) -> dict:
        """Write the numbers into a folder, named by their SHA-256; return the record for `load`."""
        digest = hashlib.sha256(self.numbers.tobytes()).hexdigest()
        name = f"passages-{digest[:12]}.npy"
        write_whole(Path(folder, name), lambda part: np.save(part, self.numbers))
        return {"file": name, "sha256": digest, "bits": self.bits, "length": LENGTH}


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` fill a hidden file that then takes the place of `path`.

    recency.files.atomic does more, but is a part of what results depend on (recency.workflow.code).
    """
    part = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def load(folder: str | Path, record: dict) -> Passages:
    """Return the passages that a record names, from the folder that it stands in.

    Raises InputError where the file is gone or is not as it was written.
    """
    path = Path(folder, Path(record["file"]).name)
    try:
        numbers = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be read ({error}); put it back") from error
    if hashlib.sha256(numbers.tobytes()).hexdigest() != record["sha256"]:
        raise InputError(f"{path} is not as it was written; put it back")
    return Passages(numbers, record["bits"])


def of_texts(texts: Iterable[str]) -> Passages:
    """Return the passages of documents."""
    kept, bits = np.zeros(0, np.uint64), 0
    for numbers in _numbers(texts):
        kept = np.union1d(kept, _below(numbers, bits))
        while len(kept) > MOST:
            bits += 1
            kept = _below(kept, bits)
    return Passages(kept, bits)


def of_file(path: str | Path) -> Passages:
    """Return the passages of a Parquet file of documents (`text`) or of words (`item`, `word`)."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if "text" in file.schema_arrow.names:
            batches = file.iter_batches(columns=["text"])
            return of_texts(text for batch in batches for text in batch.column(0).to_pylist())
        words = file.read(["item", "word"]).to_pandas()
    return of_texts(" ".join(own.dropna()) for _, own in words.groupby("item", sort=False)["word"])


class _Words(dict):
    """A number for each word."""

    def __missing__(self, word: str) -> int:
        number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
        if len(self) < AT_ONCE:
            self[word] = number
        return number


def _numbers(texts: Iterable[str]) -> Iterator[np.ndarray]:
    """Yield the numbers of passages, many documents at once."""
    numbered, words, ends = _Words(), [], []
    for text in texts:
        words += map(numbered.__getitem__, re.findall(r"\w+", text.lower()))
        ends.append(len(words))
        if len(words) >= AT_ONCE:
            yield _rolled(words, ends)
            words, ends = [], []
    yield _rolled(words, ends)


def _rolled(words: list[int], ends: list[int]) -> np.ndarray:
    """Return a number for each passage that lies within a document."""
    places = len(words) - LENGTH + 1
    if places <= 0:
        return np.zeros(0, np.uint64)
    values, numbers = np.array(words, np.uint64), np.zeros(places, np.uint64)
    for place in range(LENGTH):
        numbers = numbers * _FACTOR + values[place : place + places]
    numbers = (numbers ^ (numbers >> np.uint64(31))) * _MIX
    numbers ^= numbers >> np.uint64(29)
    within = np.ones(places, bool)
    for end in ends[:-1]:
        within[max(end - LENGTH + 1, 0) : end] = False
    return numbers[within]


def _below(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Return the numbers whose first bits are 0."""
    return numbers[numbers < np.uint64(1 << (64 - bits))] if bits else numbers
