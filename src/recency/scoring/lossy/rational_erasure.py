"""Search for resource-rational retention: the least expected surprisal for a budget of words.

Retention is logistic in features of the context words. Given slopes, the intercept is set so that
the expected number of retained words over the whole dataset meets the budget; this needs no
sampling. The slopes minimise the mean expected surprisal of a sample of words, by the simplex
method of Nelder & Mead (1965) on standardised features. All slopes use the same draws (common
random numbers), so that contexts repeat and differences are not due to noise.

Score words given the retained context words, with a causal or a masked network.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from recency.errors import InputError
from recency.networks.erasures import ContextWords, logistic
from recency.scoring import alignment, forward, masked
from recency.scoring.forward import Window, batches, sees_length, window_of, windows
from recency.scoring.lossy.lossy_estimates import list_patterns, probabilities
from recency.scoring.lossy.lossy_settings import Lossy
from recency.scoring.output_layer import OutputLayer
from recency.scoring.tokenizer import begin_token

#: Positions whose logits are in memory at once.
POSITIONS_AT_ONCE = 1024
#: Columns of scores: -log p, then the log masses of SPACE before and after the word, then of END.
SURPRISAL, SPACE, END = 0, slice(1, 3), slice(3, 5)


@dataclass
class Item:
    """A text whose words are scored; numbers of words count only words with a token.

    Attributes
    ----------
    text : alignment.Text
        The tokens.
    owners : ndarray (words,)
        Each word's number among all words of the text.
    bounds : ndarray (words + 1,)
        The first token of each word, and the number of tokens.
    frequency, position : ndarray (words,) or None
        See `ContextWords`.
    """

    text: alignment.Text
    owners: np.ndarray
    bounds: np.ndarray
    frequency: np.ndarray | None = None
    position: np.ndarray | None = None

    def tokens(self, word: int) -> np.ndarray:
        """Return the token ids of a word."""
        return self.text.ids[self.bounds[word] : self.bounds[word + 1]]

    def context(self, word: int, reach: int | None = None) -> tuple[int, ContextWords]:
        """Return the number of the first context word of a word, and its context words."""
        first = 0 if reach is None else max(0, word - reach)
        part = slice(first, word)
        frequency = None if self.frequency is None else self.frequency[part]
        position = None if self.position is None else self.position[part]
        return first, ContextWords(word - np.arange(first, word), frequency, position)


@dataclass(frozen=True)
class Context:
    """A word of an item, and the words before it that are retained, in order."""

    item: int
    word: int
    retained: tuple[int, ...]


class CausalReader:
    """Score words of items with a causal network; erased words are deleted."""

    def __init__(
        self,
        model,
        items: Sequence[Item],
        bos: bool | str,
        stride: int | None,
        precision: str = "fp32",
        window: int | None = None,
        tokens_at_once: int | None = None,
    ):
        network = model.network
        forward.check_reads_on(network, stride, window)
        self.items, self.network = items, network
        self.begin = begin_token(model, bos)
        if self.begin is None:
            raise InputError(
                "lossy contexts need a begin token, the only context of a word whose whole context is "
                'erased: `bos: true`, or `bos: "<name>"`'
            )
        self.size = window_of(network, window)
        self.stride = self.size // 2 if stride is None else stride
        if not 1 <= self.stride <= self.size:
            raise InputError(f"a stride of {stride} tokens is not within the window of {self.size}")
        self.bf16 = precision == "bf16"
        if precision not in model.output_layers:
            model.output_layers[precision] = OutputLayer(network, model.kind, self.bf16)
        self.layer = model.output_layers[precision]
        self.padded = not sees_length(network)
        self.at_once = tokens_at_once or forward.tokens_at_once(network)
        #: Whether tokens mark the space before words.
        self.is_marked = bool((model.kind == alignment.SPACE).any())

    def key(self, context: Context) -> tuple:
        """Return the key of a context; contexts with the same key have the same scores."""
        item = self.items[context.item]
        before = [item.tokens(word) for word in context.retained]
        before = np.concatenate(before) if before else np.zeros(0, np.int64)
        return before.tobytes(), item.tokens(context.word).tobytes()

    def seen(self, context: Context) -> int:
        """Return the number of tokens before the word, with the begin token."""
        bounds = self.items[context.item].bounds
        return 1 + sum(int(bounds[word + 1] - bounds[word]) for word in context.retained)

    @torch.inference_mode()
    def score(self, contexts: Sequence[Context]) -> np.ndarray:
        """Return the scores (contexts, 5) of each context's word, nats; NaN where undefined."""
        todo, begins, sizes, targets = [], [], [], []
        for number, context in enumerate(contexts):
            before, tokens = (np.frombuffer(part, np.int64) for part in self.key(context))
            ids = np.concatenate([before, tokens])
            last = (
                len(ids) if self.is_marked else len(ids) - 1
            )  # else the last prediction is unused
            for window in windows(ids[:last], number, self.size, self.stride, self.begin):
                fresh = max(window.fresh, len(before) - window.start)
                if fresh < len(window.ids):
                    todo.append(Window(number, window.ids, window.start, fresh))
            begins.append(len(before))
            sizes.append(len(tokens) + 1)
            targets.append(np.append(tokens, 0))
        offsets = np.cumsum([0, *sizes])
        filled = self._positions(todo, offsets[:-1] - begins, np.concatenate(targets))
        scores = np.full((len(contexts), 5), np.nan)
        scores[:, SURPRISAL] = [-filled[0, a : b - 1].sum() for a, b in pairwise(offsets)]
        if self.is_marked:
            scores[:, SPACE] = filled[1, np.stack([offsets[:-1], offsets[1:] - 1], 1)]
            scores[:, END] = filled[2, np.stack([offsets[:-1], offsets[1:] - 1], 1)]
        return scores

    def _positions(self, todo, offsets, targets) -> np.ndarray:
        """Return log p and the log masses of SPACE and END, (3, targets)."""
        filled = np.full((3, len(targets)), np.nan)
        cut = batches(todo, self.at_once, self.padded)
        for batch, output in forward.run(self.network, cut, self.bf16, self.layer.body):
            hidden, rows, columns, places = output[0], [], [], []
            for row, window in enumerate(batch):
                counted = np.arange(window.fresh, len(window.ids))
                rows.append(np.full(len(counted), row))
                columns.append(counted)
                places.append(offsets[window.text] + window.start + counted)
            rows, columns, places = map(np.concatenate, (rows, columns, places))
            for start in range(0, len(places), POSITIONS_AT_ONCE):
                part = slice(start, start + POSITIONS_AT_ONCE)
                chosen = torch.from_numpy(targets[places[part]]).to(hidden.device)
                scored = self.layer.score(hidden[rows[part], columns[part]], chosen)
                filled[:, places[part]] = torch.stack(scored).cpu().numpy()
        return filled


class MaskedReader:
    """Score words of items with a masked network; `future` is the treatment of later words."""

    is_marked = False

    def __init__(
        self,
        model,
        items: Sequence[Item],
        metric: str,
        future: str,
        erased: str,
        window: int | None = None,
        tokens_at_once: int | None = None,
    ):
        self.items, self.around, self.erased = items, model.around, erased
        network, more = model.network, {"window": window, "tokens_at_once": tokens_at_once}

        def run(texts, places) -> list:
            return masked.score(network, texts, self.around, metric, future, places=places, **more)

        self.run: Callable = run

    def key(self, context: Context) -> tuple:
        """Return the key of a context; contexts with the same key have the same scores."""
        return context.item, context.word, context.retained

    def seen(self, context: Context) -> int:
        """Return the number of tokens seen before the word, with those of the frame."""
        bounds = self.items[context.item].bounds
        tokens = sum(int(bounds[word + 1] - bounds[word]) for word in context.retained)
        return tokens + len(self.around.before)

    def score(self, contexts: Sequence[Context]) -> np.ndarray:
        """Return the scores (contexts, 5) of each context's word, nats; NaN where undefined."""
        texts, places = [], []
        for context in contexts:
            item = self.items[context.item]
            ids, word = item.text.ids.copy(), item.text.word
            first, last = (int(bound) for bound in item.bounds[context.word : context.word + 2])
            retained = np.ones(len(ids), bool)
            retained[:first] = np.isin(word[:first], item.owners[list(context.retained)])
            if self.erased == "masked":
                ids[~retained] = self.around.mask
                shift = 0
            else:
                ids, word = ids[retained], word[retained]
                shift = int((~retained).sum())
            texts.append(alignment.Text(ids, word, item.text.words))
            places.append((first - shift, last - shift))
        scores = np.full((len(contexts), 5), np.nan)
        for row, (log, *_) in enumerate(self.run(texts, places)):
            first, last = places[row]
            scores[row, SURPRISAL] = -log[first:last].sum()
        return scores


#: Largest change of the log odds per standard deviation of a feature.
STEEPEST = 8.0
#: Standardised slopes that are tried first along each feature, from weak ones to thresholds.
STEPS = (-8.0, -2.5, -0.8, 0.8, 2.5, 8.0)


@dataclass
class _Sample:
    """A word whose expected surprisal is minimised, with its context and patterns of erasure."""

    item: int
    word: int
    first: int
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
            for word in range(1, len(item.owners) if reach else 0):
                first, words = item.context(word, reach)
                contexts.append((number, word, first))
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
        self.samples = self._sampled(contexts, features, lossy)
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

    def _sampled(self, contexts, features, lossy: Lossy) -> list[_Sample]:
        """Return the sample of words whose mean expected surprisal is minimised."""
        every = max(1, len(contexts) // self.form.words)
        samples = []
        for number in range(every // 2, len(contexts), every)[: self.form.words]:
            item, word, first = contexts[number]
            values = (features[number] - self.mean) / self.spread
            few = len(values) <= np.log2(self.form.patterns)
            generator = np.random.default_rng([lossy.seed, number])
            samples.append(
                _Sample(
                    *(item, word, first, values),
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
                        tuple((sample.first + np.flatnonzero(row)).tolist()),
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
