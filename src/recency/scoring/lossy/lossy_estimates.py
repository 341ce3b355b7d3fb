"""Estimate the lossy-context surprisal of a table's words, scoring each distinct context once.

Patterns of erasure in a context: all of them, or the most probable ones and draws from the rest.

Words are retained independently, so a pattern's probability is Π q_j^r_j (1 - q_j)^(1 - r_j). If
there are at most `samples` patterns, all are scored and the expectation is exact. Otherwise
patterns of probability 1 / samples or more are scored with their probabilities, and the others, of
total probability W, by draws: E = Σ p s + W · mean(s drawn). The estimate is unbiased, and its
variance is at most that of `samples` draws from all patterns, since draws get at least the share W
of the samples.

The estimate of one word's lossy-context surprisal from the patterns scored so far.
"""

import heapq
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.networks import erasures
from recency.networks.erasures import EPSILON
from recency.scoring import alignment, results, texts
from recency.scoring.lossy.lossy_readers import END, SPACE, SURPRISAL, Context, Item
from recency.scoring.lossy.lossy_settings import Lossy

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
            A variant of recency.scoring.texts.
        """

        def move(values: np.ndarray) -> np.ndarray:
            # The first boundary of `texts.boundaries` is the text's beginning; skip it.
            space, end = (np.append(0.0, values[:, part]) for part in (SPACE, END))
            masses = texts.boundaries(space, end, begins, correction)[1:].reshape(-1, 2)
            before, after = masses.T
            if self.word == 0:
                first = (values[0, SPACE], values[0, END])
                before = texts.boundaries(*first, begins, correction)[0]
            return preceded * before - followed * after

        total = float(self.patterns.weights @ move(self.exact))
        if self.drawn:
            total += self.patterns.rest * float(move(np.array(self.drawn)).mean())
        return total

    def samples_needed(self, tolerance: float) -> float:
        """Return the number of samples for a standard error of `tolerance` (nats)."""
        return len(self.patterns.exact) + len(self.drawn) * (self.error / tolerance) ** 2


#: Optional column of the words with the seed label of a text's draws; by default its item.
DRAWN_AS = "drawn_as"
#: Number of evenly spaced words that are scored first.
PILOT = 48
#: Share of the words that may miss the tolerance.
MISSED = 0.05
#: Scored contexts that are stored for later words, in addition to those of one call.
STORED = 2**18
#: Distances for which the log shows retention.
SHOWN = (1, 2, 3, 5, 10, 20)


@dataclass(frozen=True)
class Writing:
    """Output settings: the unit, and the whitespace correction.

    `spaces` says whether a space follows each word of the table; None if one follows all.
    """

    unit: str
    correction: str
    spaces: np.ndarray | None
    kind: np.ndarray


class Estimates:
    """The estimates of words: `add` computes them and `table` returns them.

    Attributes
    ----------
    reach : int or None
        Most context words; words beyond are erased.
    filled : ndarray (5, words)
        Surprisal, corrected surprisal and standard error, nats; samples needed for the tolerance;
        mean number of tokens seen before the word. NaN for words that are not scored.
    """

    def __init__(
        self,
        words: pd.DataFrame,
        rows: Sequence[np.ndarray],
        items: Sequence[Item],
        reader,
        lossy: Lossy,
        writing: Writing,
    ):
        self.words, self.rows, self.items, self.reader = words, rows, items, reader
        self.lossy, self.form, self.writing = lossy, lossy.form, writing
        self.reach = self.form.reach if lossy.reach is None else lossy.reach
        longest = max((item.oldest for item in items), default=0)
        if tuple(self.form.features) == ("distance",) and longest:
            far = erasures.ContextWords(np.arange(1, longest + 1))
            retained = np.flatnonzero(erasures.retention(self.form, far, self.reach))
            self.reach = int(retained[-1]) + 1 if len(retained) else 0
        self.filled = np.full((5, len(words)), np.nan)
        self.scored = self.distinct = 0
        self.retained = np.zeros((2, max(SHOWN) + 1))  # sum and number by distance; index 0: all
        self._row_of: dict[tuple, int] = {}  # key of a context → row of `_values`
        self._values = np.zeros((0, VALUES))

    def add(self, asked: Sequence[tuple[int, int]], tolerance: float | None) -> None:
        """Estimate the words (item, word) in rounds until all are finished."""
        if len(self._row_of) > STORED:
            self._row_of, self._values = {}, self._values[:0]
        row_of, values = self._row_of, self._values
        todo = [self._start_word(item, word) for item, word in asked]
        while todo:
            patterns = [word_estimate.next_patterns(tolerance) for word_estimate in todo]
            contexts = [word_estimate.contexts(part) for word_estimate, part in zip(todo, patterns)]
            keys = [[self.reader.key(context) for context in part] for part in contexts]
            new = {
                key: context
                for part, names in zip(contexts, keys)
                for context, key in zip(part, names)
                if key not in row_of
            }
            if new:
                scores = self.reader.score(list(new.values()))
                seen = [self.reader.seen(context) for context in new.values()]
                row_of |= {key: len(values) + number for number, key in enumerate(new)}
                values = np.concatenate([values, np.column_stack([scores, seen])])
                self.distinct += len(new)
            left = []
            for word_estimate, names in zip(todo, keys):
                if not names:
                    self._finish(word_estimate, tolerance)
                    continue
                word_estimate.add_scores(values[[row_of[key] for key in names]])
                self.scored += len(names)
                left.append(word_estimate)
            todo = left
        self._values = values

    def _start_word(self, number: int, word: int) -> Word:
        """Return a word with the patterns of its context."""
        numbers, context = self.items[number].context(word, self.reach)
        retention = erasures.retention(self.form, context, self.reach)
        self.retained[:, 0] += retention.sum(), retention.size
        near = context.distance <= max(SHOWN)
        distance = np.ceil(context.distance[near]).astype(int)
        np.add.at(self.retained[0], distance, retention[near])
        np.add.at(self.retained[1], distance, 1)
        certain = numbers[retention == 1]
        random = np.flatnonzero((retention > 0) & (retention < 1))
        column = DRAWN_AS if DRAWN_AS in self.words else "item"
        drawn_as = str(self.words[column].iloc[self.rows[number][0]])
        seed = [self.lossy.seed, zlib.crc32(drawn_as.encode()), word]
        generator = np.random.default_rng(seed)
        patterns = Patterns(retention[random], self.lossy.samples, generator)
        return Word(number, word, certain, numbers[random], patterns)

    def _finish(self, word_estimate: Word, tolerance: float | None) -> None:
        """Store the estimate of a word."""
        item, rows = self.items[word_estimate.item], self.rows[word_estimate.item]
        values, corrected = word_estimate.values, np.nan
        if self.reader.is_marked:
            begins = bool(self.writing.kind[item.text.ids[0]] == alignment.SPACE)
            followed = self._is_followed(rows, item, word_estimate.word)
            preceded = word_estimate.word == 0 or self._is_followed(
                rows, item, word_estimate.word - 1
            )
            corrected = values[SURPRISAL] + word_estimate.whitespace_shift(
                begins, preceded, followed, self.writing.correction
            )
        needed = word_estimate.samples_needed(tolerance) if tolerance else np.nan
        row = rows[item.owners[word_estimate.word]]
        self.filled[:, row] = values[SURPRISAL], corrected, word_estimate.error, needed, values[-1]

    def _is_followed(self, rows: np.ndarray, item: Item, word: int) -> bool:
        """Return whether a space separates a word from the next one that has a token."""
        if self.writing.spaces is None:
            return True
        after = item.owners[word + 1] if word + 1 < len(item.owners) else len(rows)
        return bool(self.writing.spaces[rows[after - 1]])

    def require_tolerance(self, tolerance: float | None, of: str) -> list[str]:
        """Return a note on the words that miss a tolerance (nats); raise InputError if too many do.

        `of` describes the words, as in "of 900 words".
        """
        scored = np.isfinite(self.filled[2])
        errors, needed = self.filled[2:4, scored]
        if tolerance is None or not (errors > tolerance).any():
            return []
        missed = errors > tolerance
        samples = int(np.ceil(np.quantile(needed, 1 - MISSED)))
        bits = errors[missed] / np.log(2)
        close = (
            f"with `samples: {self.lossy.samples}`, the standard error of {missed.mean():.1%} {of} is "
            f"above the `tolerance` of {self.lossy.tolerance:g} bits (median of these "
            f"{np.median(bits):.3g}, largest {bits.max():.3g})"
        )
        if missed.mean() <= MISSED:
            return [close]
        raise InputError(
            f"lossy: {close}; about {samples:,} samples are needed: set `samples: {samples}`, a larger "
            "`tolerance`, or `tolerance: null`"
        )

    def table(self) -> pd.DataFrame:
        """Return contract 3 of the words, with the standard errors."""
        unit, tokens = self.writing.unit, np.zeros(len(self.words), np.int32)
        for item, rows in zip(self.items, self.rows, strict=True):
            tokens[rows[item.owners]] = np.diff(item.bounds)
        tokens[np.isnan(self.filled[0])] = 0
        seen = np.nan_to_num(np.rint(self.filled[4])).astype(np.int32)
        table = results.table(self.words, *self.filled[:2], tokens, seen, unit=unit)
        error = self.filled[2] / results.UNITS[unit]
        return table.assign(**{f"surprisal_standard_error_{unit}": error})

    def notes(self) -> list[str]:
        """Return notes for the log: retention, number of contexts, and standard errors."""
        total, count = self.retained
        shown = [f"{total[d] / count[d]:.3g} {d} back" for d in SHOWN if count[d]]
        share = total[0] / max(count[0], 1)
        reach = "all words" if self.reach is None else f"the {self.reach} words"
        described = ", ".join(f"{key}: {value}" for key, value in self.lossy.erasure.items())
        words = int(np.isfinite(self.filled[2]).sum())
        retained = (
            f"lossy contexts ({described}): a context is {reach} before a word in its text; {share:.1%} "
            f"of them are retained in the mean; of words {', '.join(shown) or 'none'}"
        )
        scored = f"{self.scored:,} contexts of {words:,} words scored, {self.distinct:,} of them distinct"
        return [retained, scored, self._exactness()]

    def _exactness(self) -> str:
        unit, (surprisal, _, error) = (
            self.writing.unit,
            self.filled[:3] / results.nats(self.writing.unit),
        )
        error = error[np.isfinite(error)]
        drawn = error[error > 0]
        if not len(drawn):
            return f"the expectation is exact for all {len(error):,} words"
        spread = float(np.nanvar(surprisal))
        noise = float(np.mean(error**2)) / spread if spread else np.nan
        return (
            f"the expectation is exact for {len(error) - len(drawn):,} words; the standard errors of the "
            f"others have the median {np.median(drawn):.3g} and the largest {drawn.max():.3g} {unit}, and "
            f"the mean square of all is {noise:.2%} of the variance of surprisal over words"
        )
