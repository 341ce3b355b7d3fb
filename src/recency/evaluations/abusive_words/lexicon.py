"""Strict readers of lexicon files, and masking of words for reports."""

import math
from pathlib import Path

import pandas as pd

from recency.errors import InputError
from recency.figures.paths import File
from recency.text.utf8 import lines

LABELS = {"TRUE": True, "FALSE": False}
#: Columns of a feature table; entry is word_pos, or a word with any part of speech.
FEATURES = ["entry", "feature", "value"]
#: Source of a vector: the LM's embedding, SWordSS, or none (zeros).
OWN, MADE, NONE = "own", "made", "none"


def read_base(path: File) -> dict[str, bool]:
    """Return entry (word_pos) → whether people judged it abusive. Raises InputError with the line."""
    labels = _read(path, LABELS.get, "TRUE or FALSE")
    counts = pd.Series(labels).value_counts()
    if len(counts) < 2 or counts.min() < 2:
        raise InputError(f"{path}: a classifier needs two TRUE and two FALSE entries or more")
    return labels


def read_expanded(path: File) -> dict[str, float]:
    """Return entry (word_pos) → score, above 0 for abusive. Raises InputError with the line."""
    return _read(path, _number, "a number")


def _read(path: File, value_of, expected: str) -> dict:
    entries = {}
    for number, line in lines(Path(path)):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        entry, *rest = line.rstrip("\r\n").split("\t")
        value = value_of(rest[0].strip()) if len(rest) == 1 else None
        if value is None or not all(split(entry)):
            raise InputError(
                f"{where}: {line.strip()[:60]!r} is not word_pos, a tab and {expected}; correct or remove the line"
            )
        if entry in entries:
            raise InputError(f"{where}: {entry!r} occurs twice; remove one")
        entries[entry] = value
    if not entries:
        raise InputError(f"{path} has no entries; fetch or copy it again")
    return entries


def read_features(path: File) -> pd.DataFrame:
    """Return FEATURES of a table with an entry or word, a feature and a number (default 1) per line.

    Lines without a tab before the first line with one are notes. Raises InputError with the line.
    """
    rows = []
    for number, line in lines(Path(path)):
        fields = line.rstrip("\r\n").split("\t")
        if not line.strip() or (not rows and len(fields) == 1):
            continue
        value = _number(fields[2]) if len(fields) == 3 else 1.0
        if len(fields) not in (2, 3) or not fields[0] or not fields[1] or value is None:
            raise InputError(
                f"{path}, line {number}: {line.strip()[:60]!r} is not a word, a feature and an optional number "
                "separated by tabs; correct or remove the line"
            )
        rows.append((fields[0], fields[1], value))
    if not rows:
        raise InputError(f"{path} has no features; each line is a word, a tab and a feature")
    return pd.DataFrame(rows, columns=FEATURES)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def split(entry: str) -> tuple[str, str]:
    """Return the word and its part of speech, or two empty strings."""
    word, _, pos = entry.rpartition("_")
    return word, pos


def shown(entry: str, in_full: bool) -> str:
    """Write an entry for a report: `word (noun)`, or masked as `w*** (noun)`."""
    word, pos = split(entry)
    return f"{word if in_full else word[0] + '***'} ({pos})"
