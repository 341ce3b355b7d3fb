"""A cache: p(word) is the word's share of the words last read (Kuhn & De Mori 1990)."""

from collections import Counter, deque
from collections.abc import Hashable, Sequence

import numpy as np

WORDS = 500  # with it, KN2, 3 and 5 have the thesis's perplexities of the Penn Treebank (Table 4.2)


def score(text: Sequence[Hashable], words: int = WORDS) -> np.ndarray:
    """Return the nats of each word of a text, infinite where the last `words` do not hold it.

    Alone it is no LM, for most words are new; as a part of a mix it raises what was read just now.
    """
    last: deque[Hashable] = deque()
    counts: Counter[Hashable] = Counter()
    shares = np.zeros(len(text))
    for place, word in enumerate(text):
        shares[place] = counts[word] / max(1, len(last))
        last.append(word)
        counts[word] += 1
        if len(last) > words:
            counts[last.popleft()] -= 1
    with np.errstate(divide="ignore"):
        return -np.log(shares)
