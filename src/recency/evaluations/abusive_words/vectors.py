"""Rule abusive_vectors: an LM's embeddings of a lexicon's words, completed by SWordSS."""

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency.evaluations.abusive_words import lexicon
from recency.evaluations.abusive_words.lexicon import MADE, NONE, OWN
from recency.figures.paths import File
from recency.networks.swordss import Index, compose_vector
from recency.scoring.lm_spec import LMSpec


def look_up_vectors(
    entries: list[str], words: list[str], matrix: np.ndarray, similarity: str, neighbours: int
) -> pd.DataFrame:
    """Return the entry, kind and vector (list of numbers) of each entry.

    A word is looked up as written, then in lower case. A missing vector is computed by SWordSS, and
    is zero where no word with a vector shares a trigram.
    """
    number = {word: row for row, word in reversed(list(enumerate(words)))}
    index, zero, rows = Index(words, marks=True), np.zeros(matrix.shape[1]), {}
    for word in {lexicon.split(entry)[0] for entry in entries}:
        at = number.get(word, number.get(word.lower()))
        if at is not None:
            rows[word] = OWN, matrix[at]
        else:
            vector = compose_vector(word.lower(), index, matrix, similarity, neighbours)
            rows[word] = (NONE, zero) if vector is None else (MADE, vector)
    pairs = [rows[lexicon.split(entry)[0]] for entry in entries]
    table = pd.DataFrame({"entry": entries, "kind": [kind for kind, _ in pairs]})
    return table.assign(vector=[vector.tolist() for _, vector in pairs])


def main(
    base: File, expanded: File, lm: LMSpec, out: File, similarity: str, neighbours: int
) -> None:
    """Write the vectors of all entries of both lexica, from the LM's embedding table."""
    from recency.evaluations.nearest_words.score import entries as entries_of

    asked = list(dict.fromkeys([*lexicon.read_base(base), *lexicon.read_expanded(expanded)]))
    opened = lm.open(biased=False)
    vocab = entries_of(opened.tokenizer)
    matrix = opened.network.get_input_embeddings().weight.detach().double().numpy()
    table = look_up_vectors(
        asked, list(vocab), matrix[list(vocab.values())], similarity, neighbours
    )
    with atomic(out) as part:
        table.to_parquet(part, index=False, compression="zstd")
