"""Agreement of word vectors with human ratings of word pairs, and strict readers of both."""

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency.errors import InputError
from recency.figures.paths import File
from recency.networks.string_similarity import SIMILARITIES
from recency.networks.swordss import Index, compose_vector
from recency.scoring.lm_spec import LMSpec
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


COLUMNS = ["similarity", "spearman", "pairs", "known_pairs", "spearman_known", "made_words"]
COLUMNS += ["left_out"]
WITHOUT = "without"


def evaluate(
    pairs: list[tuple[str, str, float]],
    words: list[str],
    matrix: np.ndarray,
    neighbours: int,
    marks: bool = False,
) -> pd.DataFrame:
    """Return COLUMNS: Spearman's ρ of cosines with ratings, without SWordSS and by similarity.

    A word is looked up as written, then in lower case. Pairs of a word that has no vector and shares
    no trigram with one that has are left out of all rows, as in the thesis. Of the others, a pair
    with a missing vector has cosine 0; `known_pairs` counts pairs with both vectors.
    """
    number = {word: row_of for row_of, word in reversed(list(enumerate(words)))}
    row_of = {
        word: number.get(word, number.get(word.lower())) for pair in pairs for word in pair[:2]
    }
    index = Index(words, marks)
    lacking = [word for word, row in row_of.items() if row is None]
    unmatched = {word for word in lacking if not index.nearest(word.lower(), 1)}
    every = len(pairs)
    pairs = [pair for pair in pairs if not unmatched & set(pair[:2])]
    if not pairs:
        raise InputError(
            f"none of {every:,} pairs has two words with a vector or a word that is spelled similarly; "
            "give vectors of the pairs' language"
        )
    ratings = pd.Series([rating for *_, rating in pairs])
    both = np.array([row_of[a] is not None and row_of[b] is not None for a, b, _ in pairs])
    rows = []
    for name in (WITHOUT, *SIMILARITIES):
        vectors = {word: matrix[row] for word, row in row_of.items() if row is not None}
        if name != WITHOUT:
            new = {
                word: compose_vector(word.lower(), index, matrix, name, neighbours)
                for word in lacking
            }
            vectors |= {word: vector for word, vector in new.items() if vector is not None}
        cosines = pd.Series([_cosine(vectors.get(a), vectors.get(b)) for a, b, _ in pairs])
        rho = _spearman(cosines[both], ratings[both])
        made_words = len(vectors) - (len(row_of) - len(lacking))
        counts = len(pairs), both.sum(), rho, made_words, every - len(pairs)
        rows.append((name, _spearman(cosines, ratings), *counts))
    return pd.DataFrame(rows, columns=COLUMNS)


def _cosine(a: np.ndarray | None, b: np.ndarray | None) -> float:
    if a is None or b is None:
        return 0.0
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / length) if length else 0.0


def _spearman(a: pd.Series, b: pd.Series) -> float:
    if len(a) < 3 or a.nunique() < 2:
        return np.nan
    return float(a.rank().corr(b.rank()))


def score_network(
    pairs: str | Path,
    lm: LMSpec,
    out: str | Path,
    neighbours: int,
    marks: bool = False,
) -> None:
    """Write COLUMNS for the words that are single entries of an LM's embedding table."""
    from recency.evaluations.nearest_words.score import entries

    opened = lm.open(biased=False)
    vocab = entries(opened.tokenizer)
    matrix = opened.network.get_input_embeddings().weight.detach().double().numpy()
    vectors = list(vocab), matrix[list(vocab.values())]
    _write(out, evaluate(read_pairs(pairs), *vectors, neighbours, marks))


def score_vectors(
    pairs: str | Path, vectors: str | Path, out: str | Path, neighbours: int, marks: bool = False
) -> None:
    """Write COLUMNS for the vectors of a .vec file."""
    words, matrix = read_vectors(vectors)
    _write(out, evaluate(read_pairs(pairs), words, matrix, neighbours, marks))


def _write(out: str | Path, table: pd.DataFrame) -> None:
    with atomic(out) as part:
        table.to_csv(part, index=False, lineterminator="\n")
