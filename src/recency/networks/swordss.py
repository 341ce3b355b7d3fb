"""SWordSS: vectors of rare words from similarly spelled words (chapter 5 of the thesis)."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from recency.networks.string_similarity import SIMILARITIES, trigrams


class Index:
    """An index of words by trigrams: finds words that share most, weighting rare trigrams more.

    The thesis used Lucene's ranking, which depends on its version. Here it is tf-idf, with the
    square root of a word's number of trigrams as its length, and ties in vocabulary order. Trigrams
    are those of the word, as in the thesis's example, or with `marks` of its boundaries.
    """

    def __init__(self, words: Sequence[str], marks: bool = False):
        self.words, self.marks = list(words), marks
        self.having: dict[str, list[int]] = defaultdict(list)
        self.lengths = []
        for number, word in enumerate(self.words):
            of_word = trigrams(word, marks)
            self.lengths.append(math.sqrt(len(of_word)))
            for trigram in of_word:
                self.having[trigram].append(number)

    def nearest(self, word: str, count: int) -> list[int]:
        """Return the indices of at most `count` words, the best first."""
        scores: Counter[int] = Counter()
        for trigram in trigrams(word, self.marks):
            having = self.having.get(trigram, ())
            weight = (1 + math.log(len(self.words) / (1 + len(having)))) ** 2
            for number in having:
                scores[number] += weight
        return sorted(scores, key=lambda n: (-scores[n] / self.lengths[n], n))[:count]


def compose_vector(
    word: str, index: Index, matrix: np.ndarray, similarity: str, count: int
) -> np.ndarray | None:
    """Return v = Σ S(word, w) v_w / Σ S(word, w) over the `count` nearest words w, or None."""
    near = index.nearest(word, count)
    weights = np.array(
        [SIMILARITIES[similarity](word, index.words[neighbour]) for neighbour in near]
    )
    return weights @ matrix[near] / weights.sum() if weights.sum() > 0 else None
