"""Score words given the retained context words, with a causal or a masked network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from recency.errors import InputError
from recency.networks.erasures import ContextWords
from recency.scoring import alignment, forward, masked, ngram
from recency.scoring.forward import Window, batches, sees_length, window_of, windows
from recency.scoring.lossy.context_trees import Trees
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

    def scored(self) -> list[int]:
        """Return the words that have a context."""
        return list(range(len(self.owners)))

    @property
    def oldest(self) -> int:
        """The largest distance of a context word."""
        return len(self.owners)

    def context(self, word: int, reach: int | None = None) -> tuple[np.ndarray, ContextWords]:
        """Return the numbers of the context words of a word, and their features."""
        numbers = np.arange(0 if reach is None else max(0, word - reach), word)
        frequency = None if self.frequency is None else self.frequency[numbers]
        position = None if self.position is None else self.position[numbers]
        return numbers, ContextWords(word - numbers, frequency, position)


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
        self.trees = Trees(network, self.layer, self.begin, self.bf16)
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
        pairs = [tuple(np.frombuffer(part, np.int64) for part in self.key(c)) for c in contexts]
        offsets = np.cumsum([0, *(len(tokens) + 1 for _, tokens in pairs)])
        targets = np.concatenate([np.append(tokens, 0) for _, tokens in pairs])
        filled = np.full((3, len(targets)), np.nan)
        paths, todo = {}, []
        for number, (before, tokens) in enumerate(pairs):
            # Without marked spaces, the prediction after the word is unused.
            ids = np.concatenate([before, tokens if self.is_marked else tokens[:-1]])
            if len(ids) < self.size:
                inputs = [self.begin, *ids.tolist()]
                paths[number] = inputs, len(before), int(offsets[number])
            else:
                todo.append((number, before, ids))
        if not self.trees.fill(list(paths.values()), targets, filled):
            todo += [
                (n, pairs[n][0], np.array(inputs[1:], np.int64))
                for n, (inputs, *_) in paths.items()
            ]
        cut = []
        for number, before, ids in todo:
            for window in windows(ids, number, self.size, self.stride, self.begin):
                fresh = max(window.fresh, len(before) - window.start)
                if fresh < len(window.ids):
                    cut.append(Window(number, window.ids, window.start, fresh))
        begins = np.array([len(before) for before, _ in pairs])
        self._fill_windows(cut, offsets[:-1] - begins, targets, filled)
        scores = np.full((len(contexts), 5), np.nan)
        scores[:, SURPRISAL] = [-filled[0, a : b - 1].sum() for a, b in pairwise(offsets)]
        if self.is_marked:
            scores[:, SPACE] = filled[1, np.stack([offsets[:-1], offsets[1:] - 1], 1)]
            scores[:, END] = filled[2, np.stack([offsets[:-1], offsets[1:] - 1], 1)]
        return scores

    def _fill_windows(self, todo, offsets, targets, filled) -> None:
        """Fill in log p and the log masses of SPACE and END, (3, targets), from windows."""
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


class NgramWords:
    """An n-gram model, opened for contexts of readers: its `texts` have words as tokens."""

    masked = False
    tokenizer = None
    kind = np.zeros(1, np.int8)

    def __init__(self, path: str | Path, words: Sequence[Sequence[str]]):
        """Give each distinct word of the texts a number."""
        self.path = path
        self.vocabulary = sorted({word for text in words for word in text})
        numbers = {word: number for number, word in enumerate(self.vocabulary)}
        self.texts = [
            alignment.Text(np.array([numbers[w] for w in text]), np.arange(len(text)), len(text))
            for text in words
        ]


class NgramReader:
    """Score words of items with an n-gram model; erased words are deleted."""

    is_marked = False

    def __init__(self, model: NgramWords, items: Sequence[Item], bos: bool):
        self.model, self.items, self.bos = model, items, bos

    def key(self, context: Context) -> tuple[int, ...]:
        """Return the words of a context and its word."""
        item = self.items[context.item]
        return tuple(item.text.ids[item.owners[[*context.retained, context.word]]].tolist())

    def seen(self, context: Context) -> int:
        """Return the number of words before the word, with the begin token."""
        return len(context.retained) + self.bos

    def score(self, contexts: Sequence[Context]) -> np.ndarray:
        """Return the scores (contexts, 5) of each context's word, nats: only -log p is defined.

        A sequence that another one begins with is read with it.
        """
        keys = [self.key(context) for context in contexts]
        read: list[tuple[int, ...]] = []
        of = np.zeros(len(keys), int)
        for number in sorted(range(len(keys)), key=keys.__getitem__, reverse=True):
            if not read or read[-1][: len(keys[number])] != keys[number]:
                read.append(keys[number])
            of[number] = len(read) - 1
        streams = [[self.model.vocabulary[word] for word in key] for key in read]
        scored = ngram.score(self.model.path, streams, self.bos)
        scores = np.full((len(contexts), 5), np.nan)
        for row, key in enumerate(keys):
            scores[row, SURPRISAL] = -scored[of[row]].log10[len(key) - 1] * np.log(10)
        return scores


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
        return id(self.items[context.item].text), context.word, context.retained

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
