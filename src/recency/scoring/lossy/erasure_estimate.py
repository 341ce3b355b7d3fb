"""The estimate of one word's lossy-context surprisal from the patterns scored so far."""

from dataclasses import dataclass, field

import numpy as np

from recency.scoring import whitespace
from recency.scoring.lossy.erasure_patterns import Patterns
from recency.scoring.lossy.lossy_readers import END, SPACE, Context

#: Draws that are scored before a word's standard error is first checked, and before each later
#: check.
FIRST, FURTHER = 8, 8
#: Values scored for a context: the readers' columns, and the number of tokens seen.
VALUES = 6


@dataclass
class Word:
    """A word whose surprisal is estimated, with the scores of its patterns (nats)."""

    item: int
    word: int
    certain: np.ndarray  # context words that are always retained
    random: np.ndarray  # context words that may be erased
    patterns: Patterns
    exact: np.ndarray | None = None  # (patterns, values)
    drawn: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self):
        if not len(self.patterns.exact):  # no pattern is probable enough: all are drawn
            self.exact = np.zeros((0, VALUES))

    def contexts(self, patterns: np.ndarray) -> list[Context]:
        """Return the contexts left by patterns of erasure."""
        return [
            Context(
                self.item,
                self.word,
                tuple(sorted([*self.certain.tolist(), *self.random[row].tolist()])),
            )
            for row in patterns
        ]

    def next_patterns(self, tolerance: float | None) -> np.ndarray:
        """Return the patterns to score next; none if the word is finished."""
        if self.exact is None:
            return self.patterns.exact
        left = self.patterns.draws - len(self.drawn)
        enough = len(self.drawn) and tolerance is not None and self.error <= tolerance
        if left <= 0 or enough:
            return self.patterns.exact[:0]
        return self.patterns.draw(min(left, FURTHER if self.drawn else FIRST))

    def add_scores(self, values: np.ndarray) -> None:
        """Add the scores (patterns, values) of the patterns that `next_patterns` returned."""
        if self.exact is None:
            self.exact = values
        else:
            self.drawn += list(values)

    @property
    def values(self) -> np.ndarray:
        """The expectation of each scored value."""
        total = self.patterns.weights @ self.exact
        return total + self.patterns.rest * np.mean(self.drawn, 0) if self.drawn else total

    @property
    def error(self) -> float:
        """The standard error of the surprisal, nats; 0 if it is exact."""
        if not self.drawn:
            return 0.0
        surprisal = [row[0] for row in self.drawn]
        return self.patterns.rest * float(np.std(surprisal, ddof=1)) / np.sqrt(len(surprisal))

    def whitespace_shift(
        self, begins: bool, preceded: bool, followed: bool, correction: str
    ) -> float:
        """Return the change of expected surprisal by the whitespace correction, nats.

        Parameters
        ----------
        begins : bool
            Whether the text's first word is written with a space.
        preceded, followed : bool
            Whether a space precedes and follows the word.
        correction : str
            A variant of recency.scoring.whitespace.
        """

        def move(values: np.ndarray) -> np.ndarray:
            # The first boundary of `whitespace.boundaries` is the text's beginning; skip it.
            space, end = (np.append(0.0, values[:, part]) for part in (SPACE, END))
            masses = whitespace.boundaries(space, end, begins, correction)[1:].reshape(-1, 2)
            before, after = masses.T
            if self.word == 0:
                first = (values[0, SPACE], values[0, END])
                before = whitespace.boundaries(*first, begins, correction)[0]
            return preceded * before - followed * after

        total = float(self.patterns.weights @ move(self.exact))
        if self.drawn:
            total += self.patterns.rest * float(move(np.array(self.drawn)).mean())
        return total

    def samples_needed(self, tolerance: float) -> float:
        """Return the number of samples for a standard error of `tolerance` (nats)."""
        return len(self.patterns.exact) + len(self.drawn) * (self.error / tolerance) ** 2
