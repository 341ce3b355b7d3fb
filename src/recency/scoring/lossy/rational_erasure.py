"""Search for resource-rational retention: the least expected surprisal for a budget of words.

Retention is logistic in features of the context words. Given slopes, the intercept is set so that
the expected number of retained words over the whole dataset meets the budget; this needs no
sampling. The slopes minimise the mean expected surprisal of a sample of words, by the simplex
method of Nelder & Mead (1965) on standardised features. All slopes use the same draws (common
random numbers), so that contexts repeat and differences are not due to noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recency.errors import InputError
from recency.networks.erasures import logistic
from recency.scoring.lossy.lossy_estimates import list_patterns, probabilities
from recency.scoring.lossy.lossy_readers import SURPRISAL, Context, Item
from recency.scoring.lossy.lossy_settings import Lossy

#: Largest change of the log odds per standard deviation of a feature.
STEEPEST = 8.0
#: Standardised slopes that are tried first along each feature, from weak ones to thresholds.
STEPS = (-8.0, -2.5, -0.8, 0.8, 2.5, 8.0)


@dataclass
class _Sample:
    """A word whose expected surprisal is minimised, with its context and patterns of erasure."""

    item: int
    word: int
    numbers: np.ndarray  # (context words,)
    features: np.ndarray  # (context words, features), standardised
    patterns: np.ndarray | None  # all patterns, if they are few
    uniform: np.ndarray | None  # otherwise uniform draws (patterns, context words)


def search(items: Sequence[Item], reader, lossy: Lossy) -> tuple[dict[str, object], list[str]]:
    """Return the form of erasure with its weights, and lines for the log.

    Parameters
    ----------
    items : sequence of Item
        The texts, with their features.
    reader : CausalReader or MaskedReader
        The reader that scores contexts.
    lossy : Lossy
        Settings whose erasure is `resource_rational` with a budget.

    Returns
    -------
    dict
        `form`, `slopes` and `intercept`.
    list of str

    Raises
    ------
    InputError
        If the budget cannot be met.
    """
    problem = Problem(items, reader, lossy)
    slopes, notes = problem.given_slopes() if lossy.form.slopes else problem.optimised_slopes()
    raw = slopes / problem.spread
    intercept = float(problem.intercept(slopes) - problem.mean @ raw)
    weights = {"form": "resource_rational", "slopes": dict(zip(problem.names, raw.tolist()))}
    return weights | {"intercept": intercept}, notes


class Problem:
    """The objective: mean expected surprisal under a budget.

    Attributes
    ----------
    names : tuple of str
        The features.
    mean, spread : ndarray (features,)
        Their means and standard deviations over all words of all contexts.
    """

    def __init__(self, items: Sequence[Item], reader, lossy: Lossy):
        form = lossy.form
        self.names, self.reader, self.form = form.features, reader, form
        reach = form.reach if lossy.reach is None else lossy.reach
        contexts, features = [], []
        for number, item in enumerate(items):
            for word in item.scored():
                numbers, words = item.context(word, reach)
                if len(numbers):
                    contexts.append((number, word, numbers))
                    features.append(form.values(words))
        if not contexts:
            raise InputError(
                "resource_rational: no word has a context; give longer texts, or a `reach`"
            )
        pairs = np.concatenate(features)
        self.mean, self.spread = pairs.mean(0), pairs.std(0)
        self.spread[self.spread == 0] = 1.0
        self.pairs = (pairs - self.mean) / self.spread
        self.budget = self._budget(len(contexts), reach)
        self.samples = self._sample_words(contexts, features, lossy)
        self.scores: dict[tuple, float] = {}
        self.tried: dict[tuple, float] = {}

    def _budget(self, contexts: int, reach: int | None) -> float:
        """Return the expected number of retained words, summed over contexts."""
        budget, most = self.form.budget, len(self.pairs) / contexts
        if "share" in budget:
            return budget["share"] * len(self.pairs)
        if budget["words"] >= most:
            within = "" if reach is None else f" (of the last {reach} words at most)"
            raise InputError(
                f"resource_rational: the budget of {budget['words']:g} retained words cannot be met: contexts "
                f"have {most:.3g} words in the mean{within}; give fewer, or a larger `reach`"
            )
        return budget["words"] * contexts

    def _sample_words(self, contexts, features, lossy: Lossy) -> list[_Sample]:
        """Return the sample of words whose mean expected surprisal is minimised."""
        every = max(1, len(contexts) // self.form.words)
        samples = []
        for number in range(every // 2, len(contexts), every)[: self.form.words]:
            item, word, numbers = contexts[number]
            values = (features[number] - self.mean) / self.spread
            few = len(values) <= np.log2(self.form.patterns)
            generator = np.random.default_rng([lossy.seed, number])
            samples.append(
                _Sample(
                    *(item, word, numbers, values),
                    list_patterns(len(values)) if few else None,
                    None if few else generator.random((self.form.patterns, len(values))),
                )
            )
        return samples

    def intercept(self, slopes: np.ndarray) -> float:
        """Return the intercept at which standardised slopes meet the budget, by bisection."""
        scores = self.pairs @ slopes
        low, high = -scores.max() - 40.0, -scores.min() + 40.0
        for _ in range(60):
            middle = (low + high) / 2
            if logistic(middle + scores).sum() < self.budget:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def surprisal(self, slopes: np.ndarray) -> float:
        """Return the mean expected surprisal of the sample under standardised slopes, nats."""
        slopes = np.asarray(slopes, np.float64)
        key = tuple(slopes.tolist())
        if key in self.tried:
            return self.tried[key]
        intercept = self.intercept(slopes)
        wanted, weights = [], []
        for sample in self.samples:
            retention = logistic(intercept + sample.features @ slopes)
            if sample.patterns is not None:
                patterns, weight = sample.patterns, probabilities(sample.patterns, retention)
            else:
                patterns = sample.uniform < retention
                weight = np.full(len(patterns), 1 / len(patterns))
            wanted.append(
                [
                    Context(
                        sample.item,
                        sample.word,
                        tuple(sample.numbers[row].tolist()),
                    )
                    for row in patterns
                ]
            )
            weights.append(weight)
        keys = [[self.reader.key(context) for context in part] for part in wanted]
        new = {
            name: context
            for part, names in zip(wanted, keys)
            for context, name in zip(part, names)
            if name not in self.scores
        }
        if new:
            scored = self.reader.score(list(new.values()))[:, SURPRISAL]
            self.scores |= dict(zip(new, scored.tolist()))
        totals = [
            weight @ np.array([self.scores[name] for name in names])
            for weight, names in zip(weights, keys)
        ]
        self.tried[key] = float(np.mean(totals))
        return self.tried[key]

    def given_slopes(self) -> tuple[np.ndarray, list[str]]:
        """Return the config's slopes, standardised."""
        slopes = np.array([self.form.slopes[name] for name in self.names]) * self.spread
        return slopes, [
            "resource-rational retention: slopes as given; the intercept meets the budget"
        ]

    def optimised_slopes(self) -> tuple[np.ndarray, list[str]]:
        """Return the standardised slopes with the least surprisal, and lines for the log."""
        from scipy.optimize import minimize

        size = len(self.names)
        start = np.zeros(size)
        uniform = self.surprisal(start)
        for axis in range(size):
            for step in STEPS:
                if len(self.tried) < self.form.evaluations:
                    self.surprisal(np.eye(size)[axis] * step)
        start = np.array(min(self.tried, key=self.tried.get))
        left = self.form.evaluations - len(self.tried)
        if left > 0:
            simplex = np.vstack([start, start + np.eye(size) * np.where(start > 0, -1.0, 1.0)])
            minimize(
                self.surprisal,
                start,
                method="Nelder-Mead",
                bounds=[(-STEEPEST, STEEPEST)] * size,
                options={
                    "initial_simplex": simplex, "maxfev": left, "xatol": 1e-3, "fatol": 1e-6,
                },
            )  # fmt: skip
        chosen = min(self.tried, key=self.tried.get)
        slopes = np.array(chosen)
        edge = [name for name, s in zip(self.names, slopes) if abs(s) > 0.99 * STEEPEST]
        raw = slopes / self.spread
        shown = ", ".join(f"{name} {value:.4g}" for name, value in zip(self.names, raw))
        bits = np.log(2)
        summary = (
            f"resource-rational retention for the budget {self.form.budget}: slopes {shown}; expected "
            f"surprisal of {len(self.samples):,} words {self.tried[chosen] / bits:.4g} bits, with the same "
            f"retention of all words {uniform / bits:.4g}; {len(self.tried)} slopes tried, "
            f"{len(self.scores):,} contexts scored"
        )
        notes = [summary]
        if edge:
            notes.append(
                f"the slope of {' and '.join(edge)} is at the limit of the search: retention is close to "
                "a threshold"
            )
        return slopes, notes
