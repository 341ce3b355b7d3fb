"""Strict readers of word pairs with human ratings, and of word vectors."""

import math
import sys
from pathlib import Path

import numpy as np

from recency.errors import InputError
from recency.figures.paths import File
from recency.text.utf8 import lines

#: Column separators, in order of precedence; otherwise white space.
SEPARATORS = "\t;:,"


def read_pairs(path: File) -> list[tuple[str, str, float]]:
    """Read a word, a word and a rating per line, separated by SEPARATORS or blanks; # begins notes.

    A first line without a number is a header; additional columns are ignored. Raises InputError,
    with file and line, for other lines, for fewer than three pairs, and for a constant rating.
    """
    rated = []
    for number, line in lines(Path(path)):
        if not line.strip() or line.startswith("#"):
            continue
        separator = next((candidate for candidate in SEPARATORS if candidate in line), None)
        a, b, rating = ([part.strip() for part in line.split(separator)] + ["", "", ""])[:3]
        try:
            value = float(rating)
        except ValueError:
            if number == 1 and not rating[:1].isdecimal():
                continue
            value = math.nan
        if not (a and b and math.isfinite(value)):
            raise InputError(
                f"{path}, line {number}: {line.strip()[:80]!r} is not a word, a word and a rating; correct or "
                "remove it"
            )
        rated.append((a, b, value))
    if len(rated) < 3:
        raise InputError(f"{path} has {len(rated)} pairs of words; ranks need three or more")
    if len({rating for *_, rating in rated}) < 2:
        raise InputError(
            f"{path}: all {len(rated):,} pairs have the rating {rated[0][2]:g}, which cannot be ranked; "
            "the third column must be the human rating"
        )
    return rated


def read_vectors(path: File) -> tuple[list[str], np.ndarray]:
    """Read a .vec file: a word and its numbers per line, optionally after a line with both counts.

    Return words and vectors (n, width) float32; duplicates of a word are ignored and logged. Raises
    InputError, with file and line, for a line without numbers, invalid numbers, unequal widths, and
    fewer words than the counts state.
    """
    counts, rows, twice = None, {}, 0
    for number, line in lines(Path(path)):
        word, *values = line.rstrip().split(" ")
        if number == 1 and len(values) == 1 and word.isdecimal() and values[0].isdecimal():
            counts = int(word), int(values[0])
            continue
        width = counts[1] if counts else len(next(iter(rows.values()), values))
        where = f"{path}, line {number}"
        if len(values) != width:
            raise InputError(
                f"{where}: {len(values)} numbers, not {width} as before; a word and its numbers are "
                "separated by single spaces"
            )
        try:
            with np.errstate(over="ignore"):
                row = np.array(values, np.float32)
        except ValueError:
            row = np.array([])
        if not word or not len(row) or not np.isfinite(row).all():
            raise InputError(
                f"{where}: {line.strip()[:60]!r} is not a word and numbers separated by single spaces"
            )
        twice += word in rows
        rows.setdefault(word, row)
    if not rows or (counts and counts[0] != len(rows) + twice):
        stated = f", and its first line says {counts[0]:,}; copy it again" if counts else ""
        raise InputError(f"{path} has {len(rows) + twice:,} vectors{stated}")
    if twice:
        print(
            f"{path}: {twice:,} words occur twice; the first vector of each is used",
            file=sys.stderr,
        )
    return list(rows), np.array(list(rows.values()))
