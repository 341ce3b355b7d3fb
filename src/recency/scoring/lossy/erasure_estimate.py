"""The estimate of one word's lossy-context surprisal, from what was scored of it so far."""

from dataclasses import dataclass, field

import numpy as np

from recency.scoring import whitespace
from recency.scoring.lossy.erasure_patterns import Patterns
from recency.scoring.lossy.lossy_readers import END, SPACE, Context

#: Draws of a word that are scored before its standard error is looked at, and at each further look.
FIRST, FURTHER = 8, 8
#: What is scored of a context: the columns of the readers, and the tokens that were seen.
VALUES = 6


@dataclass
class Word:
    """A word whose surprisal is estimated, and what was scored of it (nats)."""

    item: int
    word: int
    certain: np.ndarray  # words of its context that are always retained
    random: np.ndarray  # those that may be
    patterns: Patterns
    exact: np.ndarray | None = None  # (patterns, values)
    drawn: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self):
        if not len(self.patterns.exact):  # none is probable enough: all are drawn
            self.exact = np.zeros((0, VALUES))

    def contexts(self, patterns: np.ndarray) -> list[Context]:
        """Return the contexts that patterns of erasure leave."""
        return [
            Context(
                self.item,
                self.word,
                tuple(sorted([*self.certain.tolist(), *self.random[row].tolist()])),
            )
            for row in patterns
        ]

    def wanted(self, tolerance: float | None) -> np.ndarray:
        """Return the patterns to score next; none where the word is done."""
        if self.exact is None:
            return self.patterns.exact
        left = self.patterns.draws - len(self.drawn)
        enough = len(self.drawn) and tolerance is not None and self.error <= tolerance
        if left <= 0 or enough:
            return self.patterns.exact[:0]
        return self.patterns.draw(min(left, FURTHER if self.drawn else FIRST))

    def take(self, values: np.ndarray) -> None:
        """Add what was scored of the patterns that `wanted` returned: (patterns, values)."""
        if self.exact is None:
            self.exact = values
        else:
            self.drawn += list(values)

    @property
    def values(self) -> np.ndarray:
        """The expectation of each value that is scored."""
        total = self.patterns.weights @ self.exact
        return total + self.patterns.rest * np.mean(self.drawn, 0) if self.drawn else total

    @property
    def error(self) -> float:
        """The standard error of the surprisal, nats; 0 where it is exact."""
        if not self.drawn:
            return 0.0
        surprisal = [row[0] for row in self.drawn]
        return self.patterns.rest * float(np.std(surprisal, ddof=1)) / np.sqrt(len(surprisal))

    def moved(self, begins: bool, preceded: bool, followed: bool, correction: str) -> float:
        """Return what the correction for white space adds to the expected surprisal, nats.

        Parameters
        ----------
        begins : bool
            Whether the text's first word is written with a space.
        preceded, followed : bool
            Whether a space stands before the word, and behind it.
        correction : str
            A variant of recency.scoring.whitespace.
        """

        def move(values: np.ndarray) -> np.ndarray:
            # The first boundary of `whitespace.boundaries` is a text's beginning, which these are not.
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

    def needed(self, tolerance: float) -> float:
        """Return how many samples would bring the standard error to a tolerance (nats)."""
        return len(self.patterns.exact) + len(self.drawn) * (self.error / tolerance) ** 2
