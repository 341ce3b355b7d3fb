"""Hashes of the passages of a text, for comparing texts without storing them.

A passage is eight consecutive words of a document, without case and punctuation, as in the comparison
of test texts with WebText by Radford et al. (2019, section 4). There, test texts share 1 to 6 % of their
passages with an unrelated training text, and up to 13 % with the training part of their own corpus. A
training text shares all, independent of its division into documents and lines.

Of a long text, the hashes below a bound are kept: a random sample of its distinct passages. Time is
linear in the text's length, and memory does not depend on it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from readingtimes.progress import progress
from recency import digests, passage_hashes
from recency.errors import REFUSALS, InputError
from recency.passage_hashes import LENGTH, VERSION

#: Maximum number of hashes per text (8 MB); for longer texts, those below a bound are kept.
MOST = 1 << 20
#: Hashes that are held before those above the bound are removed, in multiples of `MOST`.
HELD = 8
#: Numbers of the last bits of hashes that are counted.
LAST_BITS = 1 << 22
#: Minimum number of compared passages.
LEAST = 8
#: Characters of a batch of documents.
BATCH = 1 << 23
#: Seconds between two states of an unfinished job.
SAVE_EVERY = 60.0


@dataclass(frozen=True)
class Passages:
    """Passages of a text: sorted hashes whose first `bits` bits are 0."""

    numbers: np.ndarray
    bits: int = 0
    version: int = VERSION

    def share_in(self, other: Passages) -> float | None:
        """Return the share of these passages in another text, None if there are too few."""
        if self.version != other.version:
            raise ValueError(f"hashes of versions {self.version} and {other.version}")
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
        record = {"file": name, "sha256": digest, "bits": self.bits, "length": LENGTH}
        return record | ({"version": self.version} if self.version > 1 else {})


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write `path` atomically by the function `write`.

    readingtimes.files.atomic does more, but results depend on its code (recency.workflow.plan.code).
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
    return Passages(numbers, record["bits"], record.get("version", 1))


# --- training text: once per text -----------------------------------------------------------------


def main(text: str | Path, out: str | Path) -> None:
    """Write the passages of a prepared text, resuming after a killed job.

    The state next to `out` is used for the same text only. The file does not depend on interruptions.
    """
    text, out = Path(text), Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    state = _State(out.with_name(f".{out.name}.state"), text)
    passages = _of_documents(text, VERSION, state)
    facts = np.array([passages.bits, VERSION, LENGTH])
    write_whole(out, lambda part: np.savez(part, numbers=passages.numbers, facts=facts))
    state.path.unlink(missing_ok=True)


def read(path: str | Path) -> Passages:
    """Return the passages that `main` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            bits, version, length = map(int, file["facts"])
            numbers = file["numbers"]
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise InputError(f"{path} cannot be read ({error}); delete it") from error
    if (version, length) != (VERSION, LENGTH):
        raise InputError(f"{path} is of another version of this package; delete it")
    return Passages(numbers, bits)


def of_training_text(text: str | Path, made: str | Path | None = None) -> Passages:
    """Return the passages of a training text, computed once per text.

    Parameters
    ----------
    text : path
        The prepared text.
    made : path, optional
        The file that `main` wrote for it. Default: a hidden file next to the text, which is written
        if it is missing or older than the text.
    """
    if made:
        return read(made)
    text = Path(text)
    made = text.with_name(f".{text.stem}.passages.npz")
    with suppress(OSError, *REFUSALS):
        if made.stat().st_mtime_ns >= text.stat().st_mtime_ns:
            return read(made)
    try:
        main(text, made)
    except OSError:  # the folder is read-only, or the disk full
        return of_file(text)
    return read(made)


@dataclass
class _State:
    """The state of an unfinished job."""

    path: Path
    text: Path
    saved: float = field(default_factory=time.monotonic)

    @cached_property
    def identity(self) -> str:
        """The text, and the definition of the result."""
        return f"{VERSION} {MOST} {digests.sha256(self.text)}"

    def save(self, sample: _Sample, done: int) -> None:
        """Write the sample of the first row groups, unless the last state is recent."""
        if time.monotonic() - self.saved < SAVE_EVERY:
            return
        sample.shrink()
        facts = np.array([sample.first, sample.bits, done])
        content = {"identity": np.array(self.identity), "numbers": sample.numbers, "facts": facts}

        def write(part: Path) -> None:
            with open(part, "wb") as file:  # a path would get the extension .npz
                np.savez(file, **content)

        write_whole(self.path, write)
        self.saved = time.monotonic()

    def resume(self, sample: _Sample) -> int:
        """Restore the sample if the state is of this job; return the number of row groups done."""
        with suppress(OSError, ValueError, EOFError, KeyError), np.load(self.path) as file:
            if str(file["identity"]) == self.identity:
                sample.numbers = file["numbers"]
                sample.first, sample.bits, done = map(int, file["facts"])
                return done
        return 0


# --- any text -------------------------------------------------------------------------------------


def of_texts(texts: Iterable[str], version: int = VERSION) -> Passages:
    """Return the passages of documents."""
    sample = _Sample(version)
    for documents in _batches(texts):
        sample.add(documents)
    return sample.passages()


def of_file(path: str | Path, version: int = VERSION) -> Passages:
    """Return the passages of a Parquet file of documents (`text`) or words (`item`, `word`)."""
    import pyarrow.parquet as pq

    if "text" in pq.read_schema(path).names:
        return _of_documents(Path(path), version)
    words = pq.read_table(path, columns=["item", "word"]).to_pandas()
    items = words.groupby("item", sort=False)["word"]
    return of_texts((" ".join(item_words.dropna()) for _, item_words in items), version)


def _of_documents(path: Path, version: int, state: _State | None = None) -> Passages:
    """Return the passages of a Parquet file of documents, one row group in memory."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        groups = file.num_row_groups
        sample = _Sample(version, _least_bits(file))
        done = state.resume(sample) if state else 0
        shown = progress(max(groups, 1), f"passages of {path.parent.name}", "row groups")
        while True:
            for group in range(done, groups):
                for documents in _documents(file, group):
                    sample.add(documents)
                if state:
                    shown.update(group + 1)
                    state.save(sample, group + 1)
            passages = sample.passages()
            if sample.is_whole:
                return passages
            sample, done = _Sample(version), 0


def _least_bits(file) -> int:
    """Guess fewer bits than the sample of a text will have, from the text's size."""
    metadata, column = file.metadata, file.schema_arrow.names.index("text")
    sizes = (
        metadata.row_group(group).column(column).total_uncompressed_size
        for group in range(metadata.num_row_groups)
    )
    return max(0, (sum(sizes) // (8 * MOST)).bit_length() - 1)


def _documents(file, group: int) -> Iterator:
    """Yield arrays of the documents in a row group of a Parquet file."""
    import pyarrow as pa

    for chunk in file.read_row_group(group, ["text"], use_threads=False)["text"].chunks:
        yield (chunk.drop_null() if chunk.null_count else chunk).cast(pa.large_string())


def _batches(texts: Iterable[str]) -> Iterator:
    """Yield arrays of documents, with many in each."""
    import pyarrow as pa

    batch, size = [], 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= BATCH:
            yield pa.array(batch, pa.large_string())
            batch, size = [], 0
    if batch:
        yield pa.array(batch, pa.large_string())


# --- the sample -----------------------------------------------------------------------------------


class _Sample:
    """The `MOST` smallest hashes or fewer: all distinct ones whose first bits are 0.

    The number of bits is the smallest for which there are at most `MOST`, so that the result does not
    depend on when hashes are removed. With fewer than the `first` bits there may be as many: then a
    sample is not whole, and is taken again.
    """

    def __init__(self, version: int = VERSION, first: int = 0):
        self.version = version
        self.numbers, self.first, self.bits = np.zeros(0, np.uint64), first, first
        self.new: list[np.ndarray] = []
        self.size = 0

    def add(self, documents) -> None:
        """Add the passages of an array of documents."""
        for numbers in passage_hashes.of_documents(documents, self.version):
            self.new.append(_below(numbers, self.bits))
            self.size += len(self.new[-1])
            if self.size >= HELD * MOST:
                self.shrink()

    def shrink(self) -> None:
        """Remove duplicates, and hashes above the bound."""
        levels = [[self.numbers, *self.new]]
        self.new, self.size = [], 0
        while sum(map(len, levels[-1])) > MOST:  # with duplicates: the bound is low enough
            self.bits += 1
            levels.append([_below(part, self.bits) for part in levels[-1]])
        self.numbers = _distinct(np.concatenate(levels.pop()))
        while levels:  # without duplicates there may be room for more
            shell = _shell(levels.pop(), self.bits, MOST - len(self.numbers))
            if shell is None:
                break
            self.numbers = np.concatenate([self.numbers, shell])
            self.bits -= 1

    @property
    def is_whole(self) -> bool:
        """Whether no fewer bits than the `first` would do."""
        return self.first == 0 or self.bits > self.first

    def passages(self) -> Passages:
        """Return the sample."""
        self.shrink()
        return Passages(self.numbers, self.bits, self.version)


def _distinct(numbers: np.ndarray) -> np.ndarray:
    """Return the distinct numbers in order; np.unique is slower on long arrays."""
    numbers = np.sort(numbers)
    return numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])[: len(numbers)]]


def _shell(parts: list[np.ndarray], bits: int, most: int) -> np.ndarray | None:
    """Return the distinct numbers in [2^(64 - bits), 2^(65 - bits)), None if more than `most`."""
    numbers = np.concatenate([part[part >= np.uint64(1 << (64 - bits))] for part in parts])
    # Faster than sorting, and often enough: different last bits are of different numbers.
    is_taken = np.zeros(LAST_BITS, bool)
    is_taken[(numbers & np.uint64(LAST_BITS - 1)).astype(np.intp)] = True
    if np.count_nonzero(is_taken) > most:
        return None
    numbers = _distinct(numbers)
    return numbers if len(numbers) <= most else None


def _below(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Return the hashes whose first bits are 0."""
    # compress is three times as fast as an index
    return numbers.compress(numbers < np.uint64(1 << (64 - bits))) if bits else numbers
