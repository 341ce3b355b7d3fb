"""Patterns of erasure of a context: all of them, or the most probable ones and draws of the rest.

Words are retained independently, so that a pattern's probability is Π q_j^r_j (1 - q_j)^(1 - r_j).
Where the patterns are no more than `samples`, all are scored: the expectation is exact. Otherwise
those of probability 1 / samples or more are scored with their probabilities, and what is left, of
probability W, by draws from it: E = Σ p s + W · mean(s drawn). That is unbiased, and its variance is
no larger than that of `samples` draws of all patterns, since draws get at least the share W of them.
"""

import heapq

import numpy as np

from recency.networks.erasures import EPSILON

#: Share of the samples that the most probable patterns may take.
MOST_PROBABLE = 0.75
#: Patterns that are drawn at once at most.
AT_ONCE = 4096


def all_patterns(words: int) -> np.ndarray:
    """Return every pattern (2^words, words) of words that are retained (true) or erased."""
    numbers = np.arange(2**words)[:, None]
    return (numbers >> np.arange(words)) % 2 == 1


def probabilities(patterns: np.ndarray, retention: np.ndarray) -> np.ndarray:
    """Return the probability of each pattern (n, words), given each word's retention (words,)."""
    return np.where(patterns, retention, 1.0 - retention).prod(-1)


def most_probable(retention: np.ndarray, least: float, most: int) -> np.ndarray:
    """Return the patterns (n, words) of probability `least` or more, at most `most`, in falling order.

    Parameters
    ----------
    retention : ndarray (words,)
        Between 0 and 1, both exclusive.
    least : float
        Probability.
    most : int
        Patterns.
    """
    mode = retention >= 0.5
    cost = np.abs(np.log(retention) - np.log1p(-retention))  # of the other choice for a word
    order = np.argsort(cost, kind="stable")
    cost = cost[order]
    room = np.log(np.maximum(retention, 1 - retention)).sum() - np.log(least)
    flipped: list[tuple[int, ...]] = [()] if room >= 0 and most else []
    queue = [(cost[0], (0,))] if len(cost) else []
    # The sets of words in which a pattern differs from the mode, the cheapest first: after a set come
    # those with the next word added, or in place of its last one.
    while queue and len(flipped) < most:
        total, places = heapq.heappop(queue)
        if total > room:
            break
        flipped.append(places)
        last = places[-1]
        if last + 1 < len(cost):
            heapq.heappush(queue, (total + cost[last + 1], (*places, last + 1)))
            moved = (*places[:-1], last + 1)
            heapq.heappush(queue, (total - cost[last] + cost[last + 1], moved))
    patterns = np.tile(mode, (len(flipped), 1))
    for row, places in enumerate(flipped):
        patterns[row, order[list(places)]] ^= True
    return patterns


class Patterns:
    """The patterns of a context that are scored: some with their probabilities, others drawn.

    Attributes
    ----------
    exact : ndarray (n, words)
        Patterns that are scored with their probabilities.
    weights : ndarray (n,)
        These.
    rest : float
        W, the probability of all other patterns; 0 where there are none, or it is below EPSILON.
    draws : int
        Draws of the others that there are samples for.
    """

    def __init__(self, retention: np.ndarray, samples: int, generator: np.random.Generator):
        """Lay them out; `retention` (words,) is between 0 and 1, both exclusive."""
        self.retention, self.generator = retention, generator
        if len(retention) <= np.log2(samples):
            self.exact = all_patterns(len(retention))
        else:
            most = int(MOST_PROBABLE * samples)
            self.exact = most_probable(retention, 1 / samples, most)
        self.weights = probabilities(self.exact, retention)
        self.rest = 1.0 - float(self.weights.sum())
        if len(self.exact) == 2 ** len(retention) or self.rest < EPSILON:
            self.weights = self.weights / self.weights.sum()
            self.rest = 0.0
        self.draws = samples - len(self.exact) if self.rest else 0
        self._scored = {row.tobytes() for row in np.packbits(self.exact, axis=-1)}

    def draw(self, count: int) -> np.ndarray:
        """Draw patterns (count, words) from those that are not among `exact`."""
        kept: list[np.ndarray] = []
        while len(kept) < count:
            wanted = int((count - len(kept)) / self.rest * 1.2) + 8
            shape = (min(wanted, AT_ONCE), len(self.retention))
            drawn = self.generator.random(shape) < self.retention
            for row, packed in zip(drawn, np.packbits(drawn, axis=-1)):
                if packed.tobytes() not in self._scored:
                    kept.append(row)
        return np.array(kept[:count])
