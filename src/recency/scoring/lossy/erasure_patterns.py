"""Patterns of erasure in a context: all of them, or the most probable ones and draws from the rest.

Words are retained independently, so a pattern's probability is Π q_j^r_j (1 - q_j)^(1 - r_j). If
there are at most `samples` patterns, all are scored and the expectation is exact. Otherwise
patterns of probability 1 / samples or more are scored with their probabilities, and the others, of
total probability W, by draws: E = Σ p s + W · mean(s drawn). The estimate is unbiased, and its
variance is at most that of `samples` draws from all patterns, since draws get at least the share W
of the samples.
"""

import heapq

import numpy as np

from recency.networks.erasures import EPSILON

#: Share of the samples that the most probable patterns may take.
MOST_PROBABLE = 0.75
#: Most patterns drawn at once.
AT_ONCE = 4096


def list_patterns(words: int) -> np.ndarray:
    """Return every pattern of retained (true) and erased words: (2^words, words)."""
    numbers = np.arange(2**words)[:, None]
    return (numbers >> np.arange(words)) % 2 == 1


def probabilities(patterns: np.ndarray, retention: np.ndarray) -> np.ndarray:
    """Return the probability of each pattern (n, words), given each word's retention (words,)."""
    return np.where(patterns, retention, 1.0 - retention).prod(-1)


def most_probable(retention: np.ndarray, least: float, most: int) -> np.ndarray:
    """Return the patterns (n, words) of probability `least` or more, the most probable first.

    Parameters
    ----------
    retention : ndarray (words,)
        Probabilities between 0 and 1, both exclusive.
    least : float
        Least probability of a pattern.
    most : int
        Most patterns to return.
    """
    mode = retention >= 0.5
    cost = np.abs(np.log(retention) - np.log1p(-retention))  # log odds lost by flipping a word
    order = np.argsort(cost, kind="stable")
    cost = cost[order]
    room = np.log(np.maximum(retention, 1 - retention)).sum() - np.log(least)
    flipped: list[tuple[int, ...]] = [()] if room >= 0 and most else []
    queue = [(cost[0], (0,))] if len(cost) else []
    # Enumerate the sets of flipped words, the cheapest first: the successors of a set add the next
    # word, or replace the last one by it.
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
    """The patterns of a context to score: some exactly, others drawn.

    Attributes
    ----------
    exact : ndarray (n, words)
        Patterns that are scored with their probabilities.
    weights : ndarray (n,)
        Their probabilities.
    rest : float
        W, the probability of all other patterns; treated as 0 below EPSILON.
    draws : int
        Number of samples left for draws of the others.
    """

    def __init__(self, retention: np.ndarray, samples: int, generator: np.random.Generator):
        """Choose the exact patterns; `retention` (words,) is between 0 and 1, both exclusive."""
        self.retention, self.generator = retention, generator
        if len(retention) <= np.log2(samples):
            self.exact = list_patterns(len(retention))
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
        """Draw patterns (count, words) that are not among `exact`."""
        kept: list[np.ndarray] = []
        while len(kept) < count:
            wanted = int((count - len(kept)) / self.rest * 1.2) + 8
            shape = (min(wanted, AT_ONCE), len(self.retention))
            drawn = self.generator.random(shape) < self.retention
            for row, packed in zip(drawn, np.packbits(drawn, axis=-1)):
                if packed.tobytes() not in self._scored:
                    kept.append(row)
        return np.array(kept[:count])
