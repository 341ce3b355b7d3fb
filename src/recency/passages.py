"""Hashes of the passages of a text, for comparing texts without storing them.

A passage is eight consecutive words of a document, without case and punctuation, as in the comparison
of test texts with WebText by Radford et al. (2019, section 4). There, test texts share 1 to 6 % of their
passages with an unrelated training text, and up to 13 % with the training part of their own corpus. A
training text shares all, independent of its division into documents and lines.
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

#: Words per passage.
LENGTH = 8
#: Maximum number of hashes per text (8 MB); for longer texts, those below a bound are kept.
MOST = 1 << 20
#: Minimum number of compared passages.
LEAST = 8
#: Words processed at once, and size of the cache of words.
AT_ONCE = 1 << 18
_FACTOR, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True)
class Passages:
    """Passages of a text: sorted hashes whose first `bits` bits are 0."""

    numbers: np.ndarray
    bits: int = 0

    def share_in(self, other: Passages) -> float | None:
        """Return the share of these passages in another text, None if there are too few."""
        bits = max(self.bits, other.bits)
        kept = _below(self.numbers, bits)
        if len(kept) < LEAST:
            return None
        return float(np.isin(kept, other.numbers, assume_unique=True).mean())

    def save(self, folder: str | Path) -> dict:
        """Write the hashes to a file named by its SHA-256; return the record for `load`."""
        digest = hashlib.sha256(self.numbers.tobytes()).hexdigest()
        name = f"passages-{digest[:12]}.npy"
        write_whole(Path(folder, name), lambda part: np.save(part, self.numbers))
        return {"file": name, "sha256": digest, "bits": self.bits, "length": LENGTH}


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write `path` atomically by the function `write`.

    recency.files.atomic does more, but results depend on its code (recency.workflow.code).
    """
    part = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def load(folder: str | Path, record: dict) -> Passages:
    """Return the passages of a record from its folder.

    Raises InputError if the file is missing or changed.
    """
    path = Path(folder, Path(record["file"]).name)
    try:
        numbers = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be read ({error}); restore it") from error
    if hashlib.sha256(numbers.tobytes()).hexdigest() != record["sha256"]:
        raise InputError(f"{path} was changed after it was written; restore it")
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
    """Return the passages of a Parquet file of documents (`text`) or words (`item`, `word`)."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if "text" in file.schema_arrow.names:
            batches = file.iter_batches(columns=["text"])
            return of_texts(text for batch in batches for text in batch.column(0).to_pylist())
        words = file.read(["item", "word"]).to_pandas()
    return of_texts(
        " ".join(item_words.dropna()) for _, item_words in words.groupby("item", sort=False)["word"]
    )


class _Words(dict):
    """A number for each word."""

    def __missing__(self, word: str) -> int:
        number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
        if len(self) < AT_ONCE:
            self[word] = number
        return number


def _numbers(texts: Iterable[str]) -> Iterator[np.ndarray]:
    """Yield the hashes of passages, many documents at once."""
    numbered, words, ends = _Words(), [], []
    for text in texts:
        words += map(numbered.__getitem__, re.findall(r"\w+", text.lower()))
        ends.append(len(words))
        if len(words) >= AT_ONCE:
            yield _rolled(words, ends)
            words, ends = [], []
    yield _rolled(words, ends)


def _rolled(words: list[int], ends: list[int]) -> np.ndarray:
    """Return the hash of each passage within a document."""
    places = len(words) - LENGTH + 1
    if places <= 0:
        return np.zeros(0, np.uint64)
    values, numbers = np.array(words, np.uint64), np.zeros(places, np.uint64)
    for position in range(LENGTH):
        numbers = numbers * _FACTOR + values[position : position + places]
    numbers = (numbers ^ (numbers >> np.uint64(31))) * _MIX
    numbers ^= numbers >> np.uint64(29)
    within = np.ones(places, bool)
    for end in ends[:-1]:
        within[max(end - LENGTH + 1, 0) : end] = False
    return numbers[within]


def _below(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Return the hashes whose first bits are 0."""
    return numbers[numbers < np.uint64(1 << (64 - bits))] if bits else numbers
