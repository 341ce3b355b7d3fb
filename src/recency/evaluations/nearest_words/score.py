"""Rule nearest_words: the nearest neighbours of words, by embedding U_w and by memory C_w.

Oualil et al. (2016a, Table 3.2 of the thesis): similar meaning is measured by the cosine of U, and
similar memory duration, which reflects syntax, by the Euclidean distance of C.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.names import nearest as nearest_names
from recency.errors import InputError
from recency.scoring.lm_spec import LMSpec

COLUMNS = ["lm", "space", "word", "rank", "neighbour", "value"]
#: Space → its measure.
SPACES = {"U": "cosine", "C": "distance"}
MARKS = "Ġ▁"


def entries(tokenizer) -> dict[str, int]:
    """Return the vocabulary's words → ids, without special tokens and word pieces."""
    special = tokenizer.get_added_tokens_decoder()
    vocabulary = {
        token: number for token, number in tokenizer.get_vocab().items() if number not in special
    }
    if any(token.startswith(tuple(MARKS)) for token in vocabulary):  # only pieces that begin words
        vocabulary = {
            t: number for t, number in vocabulary.items() if t[:1] in MARKS and t[1:].isalpha()
        }
    return {token.lstrip(MARKS): number for token, number in vocabulary.items()}


def spaces(network) -> dict[str, np.ndarray]:
    """Return matrices (entries, units) of a network: its embedding, and its first memory."""
    matrices = {"U": network.get_input_embeddings().weight}
    for module in network.modules():
        context = getattr(module, "context", None)
        if "C" not in matrices and getattr(context, "shape", [0])[0] == len(matrices["U"]):
            matrices["C"] = context
    return {key: matrix.detach().double().numpy() for key, matrix in matrices.items()}


def nearest(matrix: np.ndarray, row: int, rows: np.ndarray, count: int, space: str):
    """Return `count` nearest of `rows` to a row, except itself, and their cosines or distances."""
    rows = rows[rows != row]
    if space == "U":
        unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True).clip(1e-300)
        value = unit[rows] @ unit[row]
        order = np.argsort(-value, kind="stable")[:count]
    else:
        value = np.linalg.norm(matrix[rows] - matrix[row], axis=1)
        order = np.argsort(value, kind="stable")[:count]
    return rows[order], value[order]


def main(
    lm: LMSpec,
    out: str | Path,
    words: Sequence[str],
    neighbours: int,
) -> None:
    """Write COLUMNS, the nearest first. Raises InputError for a word outside the vocabulary."""
    opened = lm.open(biased=False)
    vocabulary = entries(opened.tokenizer)
    for word in words:
        if word not in vocabulary:
            raise InputError(
                f"nearest_words → words: the vocabulary of {lm.name} has no {nearest_names(word, vocabulary)}"
            )
    names = {number: word for word, number in vocabulary.items()}
    rows = np.array(sorted(names))
    table = []
    for space, matrix in spaces(opened.network).items():
        for word in words:
            near, values = nearest(matrix, vocabulary[word], rows, neighbours, space)
            table += [
                (lm.name, space, word, rank, names[int(index)], float(value))
                for rank, (index, value) in enumerate(zip(near, values, strict=True), 1)
            ]
    with atomic(out) as part:
        pd.DataFrame(table, columns=COLUMNS).to_csv(part, index=False, lineterminator="\n")
