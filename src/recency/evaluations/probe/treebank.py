"""Rule treebank: the splits of a treebank in one table.

Dependency trees as distances, trees from distances, and their agreement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.formats import conllu
from recency.figures.paths import File


def main(files: Mapping[str, File], out: File) -> None:
    """Write split, sentence, position, word, head, relation, upos and space_after of each word.

    `files` is split → path; sentences count from 1 within a split. See `conllu.read`.
    """
    parts = [conllu.read(path).assign(split=split) for split, path in files.items()]
    table = pd.concat(parts, ignore_index=True)
    with atomic(out) as path:
        table[["split", *table.columns.drop("split")]].to_parquet(
            path, compression="zstd", index=False
        )


SPEARMAN_LENGTHS = (5, 50)  # words; Hewitt & Manning (2019), section 4.2
AT_ONCE = 64  # sentences per batch


@dataclass
class Trees:
    """Concatenated sentences: heads are positions from 1, 0 is the root."""

    begin: np.ndarray  # (sentences + 1,): index of a sentence's first word
    head: np.ndarray  # (words,)
    relation: np.ndarray  # (words,)
    counted: np.ndarray  # (words,) bool: all but punctuation

    @classmethod
    def of(cls, table: pd.DataFrame) -> Trees:
        """Take the rows of one split of a treebank."""
        lengths = table.groupby("sentence", sort=False).size()
        counted = (table.upos != "PUNCT").to_numpy()
        begin = np.append(0, np.cumsum(lengths.to_numpy()))
        return cls(begin, table["head"].to_numpy(), table.relation.to_numpy(str), counted)

    @property
    def lengths(self) -> np.ndarray:
        """Number of words of each sentence."""
        return np.diff(self.begin)

    @cached_property
    def distances(self) -> list[np.ndarray]:
        """Numbers of edges between all pairs of words of a sentence: int16 (length, length) each."""
        return [tree_distances(self.head[a:b]) for a, b in zip(self.begin, self.begin[1:])]

    @cached_property
    def ranks(self) -> dict[int, np.ndarray]:
        """Sentence → ranks of its distances, for sentence lengths in SPEARMAN_LENGTHS."""
        low, high = SPEARMAN_LENGTHS
        chosen = np.flatnonzero((self.lengths >= low) & (self.lengths <= high))
        return {int(s): row_ranks(self.distances[s]) for s in chosen}


def tree_distances(heads: np.ndarray) -> np.ndarray:
    """Return the numbers of edges between words, int16 (words, words), from heads (0: the root).

    With A_i the set of a word's ancestors and itself, the distance is |A_i| + |A_j| - 2|A_i ∩ A_j|.
    """
    size = len(heads)
    above = np.eye(size, dtype=np.float32)
    below = np.flatnonzero(heads)
    above[below, heads[below] - 1] = 1
    for _ in range(size.bit_length()):
        above = np.minimum(above @ above, 1)
    common = above @ above.T
    depth = common.diagonal()
    return (depth[:, None] + depth - 2 * common).astype(np.int16)


def spanning_trees(distances: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return minimum spanning trees of many sentences at once, by Prim's algorithm.

    `distances` is (sentences, length, length); `counted` (sentences, length) marks the included
    words. The result (sentences, length) has a neighbour of each word in the tree, and -1 for the
    first word of a tree and for excluded words.
    """
    sentences, size = counted.shape
    rows = np.arange(sentences)
    first = counted.argmax(1)
    left = counted.copy()
    left[rows, first] = False
    origin = np.repeat(first[:, None], size, axis=1)
    near = np.where(left, distances[rows, first], np.inf)
    joined = np.full((sentences, size), -1)
    for _ in range(int(counted.sum(1).max(initial=1)) - 1):
        new = near.argmin(1)
        more = np.flatnonzero(left[rows, new])  # the other trees are complete
        joined[more, new[more]] = origin[more, new[more]]
        left[rows, new] = False
        step = distances[rows, new]
        origin = np.where(step < near, new[:, None], origin)
        near = np.where(left, np.minimum(step, near), np.inf)
    return joined


def score(predict: Callable[[np.ndarray], np.ndarray], trees: Trees) -> pd.DataFrame:
    """Return relation, n, uuas and spearman of predicted distances; the first row is "all".

    `predict` maps sentence indices (s,) to distances, padded to the longest (s, length, length).
    UUAS is the share of the n gold edges, without punctuation, in the minimum spanning tree. A
    relation's row is over its gold edges; subtypes (nsubj:pass) count with their relation, and also
    have separate rows. Spearman is the correlation of each word's distances to the words of its
    sentence, averaged over the sentence, then over sentences of the same length, then over the
    lengths 5 to 50 (Hewitt & Manning 2019, section 4.2).
    """
    hits = np.zeros(len(trees.head), bool)
    correlation = {}
    for chosen in by_length(trees.lengths, AT_ONCE):
        distances = predict(chosen)
        size = int(trees.lengths[chosen].max())
        index = trees.begin[chosen][:, None] + np.arange(size)
        real = np.arange(size) < trees.lengths[chosen][:, None]
        index = np.where(real, index, 0)
        counted = real & trees.counted[index]
        joined = spanning_trees(distances, counted)
        above = np.where(counted, trees.head[index] - 1, -1)
        rows = np.arange(len(chosen))[:, None]
        words = np.arange(size)
        hit = (above >= 0) & ((joined == above) | (joined[rows, above] == words))
        hits[index[hit]] = True
        for row, sentence in enumerate(chosen):
            if sentence in trees.ranks:
                length = trees.lengths[sentence]
                ranks = row_ranks(distances[row, :length, :length])
                correlation[sentence] = row_correlations(ranks, trees.ranks[sentence]).mean()
    table = _shares(hits, trees)
    return table.assign(spearman=[_by_lengths(correlation, trees)] + [np.nan] * (len(table) - 1))


def adjacent(trees: Trees) -> Callable[[np.ndarray], np.ndarray]:
    """Return a prediction of distances in words: a tree that joins neighbours."""

    def predict(chosen: np.ndarray) -> np.ndarray:
        places = np.arange(int(trees.lengths[chosen].max()), dtype=float)
        return np.repeat(np.abs(places[:, None] - places)[None], len(chosen), axis=0)

    return predict


def by_length(lengths: np.ndarray, at_once: int) -> Iterator[np.ndarray]:
    """Yield indices of sentences of similar length, `at_once` at a time."""
    order = np.argsort(lengths, kind="stable")
    for start in range(0, len(order), at_once):
        yield order[start : start + at_once]


def gold_edges(trees: Trees) -> np.ndarray:
    """Return a mask of the words with a scored edge to their head: neither is punctuation."""
    begin = np.repeat(trees.begin[:-1], trees.lengths)
    above = np.where(trees.head > 0, begin + trees.head - 1, 0)
    return (trees.head > 0) & trees.counted & trees.counted[above]


def _shares(is_right: np.ndarray, trees: Trees) -> pd.DataFrame:
    """Return n and UUAS of all edges, each relation and each subtype, the most frequent first."""
    edges = gold_edges(trees)
    names, right = trees.relation[edges], is_right[edges]
    plain = np.array([name.partition(":")[0] for name in names], dtype=str)
    subtyped = plain != names
    every = np.concatenate([plain, names[subtyped]])
    hits = pd.Series(np.concatenate([right, right[subtyped]]).astype(float)).groupby(every)
    table = hits.agg(["size", "mean"]).rename_axis("relation").reset_index()
    table.columns = ["relation", "n", "uuas"]
    table = table.sort_values(["n", "relation"], ascending=[False, True], ignore_index=True)
    total = pd.DataFrame([("all", len(right), right.mean())], columns=table.columns)
    return pd.concat([total, table], ignore_index=True)


def row_ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks within each row; ties have their mean rank."""
    return pd.DataFrame(values.T).rank().to_numpy().T


def row_correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return Pearson's r between the rows of `a` and `b`, 0 where a row is constant."""
    a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
    scale = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    return np.divide((a * b).sum(1), scale, out=np.zeros(len(a)), where=scale > 0)


def _by_lengths(correlation: dict[int, float], trees: Trees) -> float:
    """Average over sentences of each length, then over lengths."""
    if not correlation:
        return float("nan")
    values = pd.Series(correlation)
    return float(values.groupby(trees.lengths[values.index]).mean().mean())
