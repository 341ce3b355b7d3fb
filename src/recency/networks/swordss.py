"""SWordSS: vectors of rare words, from those of words that are written like them (chapter 5 of the thesis)."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from recency.networks.string_similarity import SIMILARITIES, trigrams


class Index:
    """Words by their trigrams; what is found for a word are those that share most, rare trigrams counting more.

    The thesis took Lucene's order, which depends on its version; here it is tf-idf with the square
    root of a word's number of trigrams for its length, ties in the vocabulary's order.
    """

    def __init__(self, words: Sequence[str]):
        self.words = list(words)
        self.having: dict[str, list[int]] = defaultdict(list)
        self.lengths = []
        for number, word in enumerate(self.words):
            own = trigrams(word)
            self.lengths.append(math.sqrt(len(own)))
            for each in own:
                self.having[each].append(number)

    def nearest(self, word: str, count: int) -> list[int]:
        """Return the numbers of at most `count` words, the best first."""
        scores: Counter[int] = Counter()
        for each in trigrams(word):
            having = self.having.get(each, ())
            weight = (1 + math.log(len(self.words) / (1 + len(having)))) ** 2
            for number in having:
                scores[number] += weight
        return sorted(scores, key=lambda n: (-scores[n] / self.lengths[n], n))[:count]


def made(
    word: str, index: Index, matrix: np.ndarray, similarity: str, count: int
) -> np.ndarray | None:
    """Return v = Σ S(word, w) v_w / Σ S(word, w) over the `count` nearest words w; None where none is near."""
    near = index.nearest(word, count)
    weights = np.array([SIMILARITIES[similarity](word, index.words[each]) for each in near])
    return weights @ matrix[near] / weights.sum() if weights.sum() > 0 else None
