"""Files of pairs of words with people's ratings, and of words' vectors: read strictly, a wrong line is named."""

import math
import sys
from pathlib import Path

import numpy as np

from recency.errors import InputError
from recency.figures.paths import File
from recency.text.utf8 import lines

#: What may part columns; the first of them that a line has does, else blanks do.
SEPARATORS = "\t;:,"


def read_pairs(path: File) -> list[tuple[str, str, float]]:
    """Read word, word and rating a line, parted by tabs, semicolons, colons, commas or blanks; # begins notes.

    A first line without a number is a header, further columns are left out. Raises InputError, with
    file and line, for any other line, and where ranks cannot be: fewer than three pairs, one rating.
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
                f"{path}, line {number}: {line.strip()[:80]!r} is no word, word and rating; correct or "
                "remove it"
            )
        rated.append((a, b, value))
    if len(rated) < 3:
        raise InputError(f"{path} has {len(rated)} pairs of words; ranks take three or more")
    if len({rating for *_, rating in rated}) < 2:
        raise InputError(
            f"{path}: all {len(rated):,} pairs have the rating {rated[0][2]:g}, and cannot be ranked; "
            "the third column has to be people's rating"
        )
    return rated


def read_vectors(path: File) -> tuple[list[str], np.ndarray]:
    """Read a .vec file, a word and its numbers a line, perhaps behind a line with both counts.

    Returns words and vectors (n, width) float32; of a word that stands twice the first counts, which
    the log says. Raises InputError, with file and line, for a line without numbers, numbers that are
    none, other widths, and fewer words than the counts say.
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
                "parted by one blank each"
            )
        try:
            with np.errstate(over="ignore"):
                row = np.array(values, np.float32)
        except ValueError:
            row = np.array([])
        if not word or not len(row) or not np.isfinite(row).all():
            raise InputError(
                f"{where}: {line.strip()[:60]!r} is no word and numbers, parted by one blank each"
            )
        twice += word in rows
        rows.setdefault(word, row)
    if not rows or (counts and counts[0] != len(rows) + twice):
        stated = (
            f", and its first line says {counts[0]:,}; fetch or copy it again" if counts else ""
        )
        raise InputError(f"{path} has {len(rows) + twice:,} vectors{stated}")
    if twice:
        print(
            f"{path}: {twice:,} words stand twice; the first vector of each counts", file=sys.stderr
        )
    return list(rows), np.array(list(rows.values()))
