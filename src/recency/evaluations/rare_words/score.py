"""Rules rare_words_by_lm, rare_words_by_vectors: agreement of word vectors with human ratings."""

from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency.evaluations.rare_words.files import read_pairs, read_vectors
from recency.networks.string_similarity import SIMILARITIES
from recency.networks.swordss import Index, compose_vector
from recency.scoring.lm_spec import LMSpec

COLUMNS = ["similarity", "spearman", "pairs", "known_pairs", "spearman_known", "made_words"]
WITHOUT = "without"


def evaluate(
    pairs: list[tuple[str, str, float]], words: list[str], matrix: np.ndarray, neighbours: int
) -> pd.DataFrame:
    """Return COLUMNS: Spearman's ρ of cosines with ratings, without SWordSS and by similarity.

    A word is looked up as written, then in lower case. A pair with a missing vector has cosine 0;
    `known_pairs` counts pairs with both vectors.
    """
    number = {word: row_of for row_of, word in reversed(list(enumerate(words)))}
    row_of = {
        word: number.get(word, number.get(word.lower())) for pair in pairs for word in pair[:2]
    }
    lacking = [word for word, row in row_of.items() if row is None]
    ratings = pd.Series([rating for *_, rating in pairs])
    both = np.array([row_of[a] is not None and row_of[b] is not None for a, b, _ in pairs])
    index, rows = Index(words), []
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
        rows.append((name, _spearman(cosines, ratings), len(pairs), both.sum(), rho, made_words))
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
) -> None:
    """Write COLUMNS for the words that are single entries of an LM's embedding table."""
    from recency.evaluations.nearest_words.score import entries

    opened = lm.open(biased=False)
    vocab = entries(opened.tokenizer)
    matrix = opened.network.get_input_embeddings().weight.detach().double().numpy()
    _write(out, evaluate(read_pairs(pairs), list(vocab), matrix[list(vocab.values())], neighbours))


def score_vectors(pairs: str | Path, vectors: str | Path, out: str | Path, neighbours: int) -> None:
    """Write COLUMNS for the vectors of a .vec file."""
    words, matrix = read_vectors(vectors)
    _write(out, evaluate(read_pairs(pairs), words, matrix, neighbours))


def _write(out: str | Path, table: pd.DataFrame) -> None:
    with atomic(out) as part:
        table.to_csv(part, index=False, lineterminator="\n")
