"""Hashes of the passages of documents: eight consecutive words, without case and punctuation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache, lru_cache

import numpy as np

#: Words per passage.
LENGTH = 8
#: Definition of the hashes. Models of earlier releases have version 1.
VERSION = 2
#: Bytes hashed at once, so that they stay in the processor's cache.
BLOCK = 1 << 16
_K, _MIX, _FACTOR = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0xD6E8FEB86659FD93
_F1, _F2, _F4 = (np.uint64(pow(_FACTOR, power, 1 << 64)) for power in (1, 2, 4))
#: Byte → its lower case, 0 if it is ASCII and not part of a word (\w).
_ASCII = bytes(
    ord(chr(byte).lower()) if re.match(r"\w", chr(byte)) else 0 for byte in range(128)
) + bytes(range(128, 256))
#: Number of bytes → a mask of as many bytes.
_MASK = np.array([(1 << (8 * size)) - 1 for size in range(9)], np.uint64)
#: Zero bytes around a block, so that eight bytes can be read from each.
_PAD = 8


@cache
def _lower(size: int) -> tuple[int, np.ndarray]:
    """Return the first character of `size` bytes in UTF-8, and the bytes of all in lower case.

    Characters that are not part of a word have zeros. Those whose lower case has another number
    of bytes stay as they are.
    """
    first, end = ((0x80, 0x800), (0x800, 0x10000))[size - 2]
    table = np.zeros((end - first, size), np.uint8)
    for code in range(first, end):
        character = chr(code)
        if character.isalnum() or character == "_":
            lower = character.lower().encode()
            table[code - first] = list(lower if len(lower) == size else character.encode())
    return first, table


def _normalise(block: bytes) -> np.ndarray:
    """Return the bytes of a block in lower case, 0 between words, with `_PAD` zeros at both ends."""
    lower = np.zeros(len(block) + 2 * _PAD, np.uint8)
    inner = lower[_PAD:-_PAD]
    inner[:] = np.frombuffer(block.translate(_ASCII), np.uint8)
    if block.isascii():
        return lower
    raw = np.frombuffer(block, np.uint8)
    at = np.flatnonzero(raw[:-3] == 0xF0)
    for place in range(4):  # emoji: U+1F000 to U+1FFFF
        inner[at[raw[at + 1] == 0x9F] + place] = 0
    for size, lead, many in ((2, 0xC0, 0x20), (3, 0xE0, 0x10)):
        at = np.flatnonzero((raw - np.uint8(lead)) < many)
        at = at[at <= len(raw) - size]
        if len(at):
            code = (raw[at] & (many - 1)).astype(np.int64)
            for place in range(1, size):
                code = code << 6 | (raw[at + place] & 0x3F)
            first, table = _lower(size)
            for place, column in enumerate(table[code - first].T):
                inner[at + place] = column
    return lower


def _words(block: bytes, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each word of a block, and the first word of each document but the first.

    `cuts` are the places at which documents end. A word's number is of its first eight bytes, its
    last eight and its length.
    """
    lower = _normalise(block)
    is_word = lower != 0
    edges = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1
    starts, ends = edges[::2], edges[1::2]
    joined = cuts + _PAD
    joined = joined[is_word[joined - 1] & is_word[joined]]
    if len(joined):  # no character between the last word of a document and the first of the next
        joined = np.unique(joined)
        starts, ends = np.sort(np.append(starts, joined)), np.sort(np.append(ends, joined))
    eight = np.ndarray((len(lower) - 7,), "<u8", lower.data, strides=(1,))
    length = ends - starts
    numbers = eight[starts] & _MASK[np.minimum(length, 8)]
    long = np.flatnonzero(length > 8)
    numbers[long] += eight[ends[long] - 8] * np.uint64(_MIX) + length[long].astype(np.uint64)
    numbers *= np.uint64(_K)
    numbers ^= numbers >> np.uint64(32)
    return numbers, np.searchsorted(starts, cuts + _PAD)


def _roll(words: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return the hash of each passage; none contains both sides of a cut."""
    places = len(words) - LENGTH + 1
    if places <= 0:
        return np.zeros(0, np.uint64)
    numbers = words[:-1] * _F1 + words[1:]
    numbers = numbers[:-2] * _F2 + numbers[2:]
    numbers = numbers[:-4] * _F4 + numbers[4:]
    numbers *= np.uint64(_MIX)
    if not len(cuts):
        return numbers
    across = (cuts[:, None] - np.arange(1, LENGTH)).ravel()
    within = np.ones(places, bool)
    within[across[(across >= 0) & (across < places)]] = False
    return numbers[within]


def of_documents(documents, version: int = VERSION) -> Iterator[np.ndarray]:
    """Yield the hashes of the passages of an Arrow array (large_string) of documents, part by part."""
    if version == 1:
        yield from _of_version_1(documents)
        return
    if not len(documents):
        return
    _, offsets, data = documents.buffers()
    ends = np.frombuffer(offsets, np.int64)[documents.offset :][: len(documents) + 1]
    start, stop, ends = int(ends[0]), int(ends[-1]), ends[1:-1]
    last, last_cuts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    while start < stop:
        block = bytes(memoryview(data)[start : min(start + BLOCK, stop)])
        if start + BLOCK < stop:
            block = block[: _end_of_word(block)]
        first, beyond = np.searchsorted(ends, [start, start + len(block)], side="left")
        words, cuts = _words(block, ends[first:beyond] - start)
        words = np.concatenate([last, words])
        cuts = np.concatenate([last_cuts, cuts + len(last)])
        yield _roll(words, cuts)
        first = max(len(words) - LENGTH + 1, 0)
        last, last_cuts = words[first:], cuts[cuts > first] - first
        start += len(block)


def _end_of_word(block: bytes) -> int:
    """Return the place behind the last blank or line break, else the last whole character's end."""
    if place := max(block.rfind(b" "), block.rfind(b"\n")) + 1:
        return place
    place = len(block)
    while place > 1 and block[place - 1] & 0xC0 == 0x80:
        place -= 1
    return max(place - 1, 1) if block[place - 1] >= 0xC0 else len(block)


# Version 1: words by a regular expression, for the records of earlier releases.


@lru_cache(maxsize=1 << 18)
def _number(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")


def _of_version_1(documents) -> Iterator[np.ndarray]:
    """Yield the hashes of the passages of each document."""
    for text in documents.to_pylist():
        words = np.array([*map(_number, re.findall(r"\w+", text.lower()))], np.uint64)
        if len(words) >= LENGTH:
            numbers = np.zeros(len(words) - LENGTH + 1, np.uint64)
            for place in range(LENGTH):
                numbers = numbers * np.uint64(_K) + words[place : place + len(numbers)]
            numbers = (numbers ^ (numbers >> np.uint64(31))) * np.uint64(_MIX)
            yield numbers ^ (numbers >> np.uint64(29))
