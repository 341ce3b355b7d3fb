"""The most probable next words, by a best-first search over prefixes of words.

The probability of a word w after the context c is that of its corrected surprisal,

    p(w | c) = p(tokens of w | c) P_B(c w) / P_B(c),

with P_B the mass of the tokens that can follow a finished word (recency.scoring.texts). Each factor
after a prefix of tokens is 1 at most, so no word is more probable than its prefix. The search expands
the most probable prefixes first and ends when none that is left is as probable as the n-th word: the
list is then exact.
"""

from collections.abc import Sequence

import numpy as np
import torch

from recency.errors import InputError
from recency.scoring import alignment, forward
from recency.scoring.alignment import END, SPACE
from recency.scoring.next_word.prefix_states import last_states
from recency.scoring.texts import boundaries

#: Prefixes that are expanded together, and most log-probabilities of their continuations (64 MB).
PREFIXES, VALUES = 32, 2**23
#: Smallest probability of a listed word, so that the search ends for any n.
LEAST = 1e-7
#: Prefixes that wait to be expanded; the least probable further ones are set aside (24 MB).
WAITING = 2**20


class WordSearch:
    """Search the words that continue one context.

    Parameters
    ----------
    model : recency.scoring.surprisal.Model
        A causal network whose tokenizer marks the beginnings of words.
    layer : recency.scoring.output_layer.OutputLayer
        The network's.
    words : sequence of str
        The context.
    start : int or None
        Begin token; needed without a context.
    correction : str
        Variant of the whitespace correction.
    leading_space : bool
        Whether a space precedes a text's first word.
    stride, window : int or None
        See `recency.scoring.causal.score`, whose windows these are.
    """

    def __init__(
        self, model, layer, words: Sequence[str], start, correction, leading_space, stride, window
    ):
        self.layer, self.kind = layer, model.kind[: len(layer.row)]
        self.model, self.words, self.leading_space = model, list(words), leading_space
        self.correction, self.start = correction, start
        network = model.network
        self.context = self._tokens(self.words) if self.words else []
        if start is None and not self.words:
            raise InputError(
                "an empty context needs a begin token: give words, or leave `bos` true"
            )
        if forward.sees_length(network):
            raise InputError(
                f"the outputs of {type(network).__name__} depend on the length of its input, by its bias "
                "or positions, so that prefixes of words have no probability of their own; "
                "recency.cloze takes it"
            )
        forward.check_reads_on(network, stride, window)
        self.size = forward.window_of(network, window)
        self.stride = self.size // 2 if stride is None else stride
        if not 1 <= self.stride <= self.size:
            raise InputError(f"a stride of {stride} tokens is not within the window of {self.size}")

    def _tokens(self, words: list[str]) -> list[int]:
        """Return the tokens of words at the beginning of a text."""
        text = alignment.align(
            words, self.model.tokenizer, leading_space=self.leading_space, kind=self.model.kind
        )
        return text.ids.tolist()

    def _logs(self, prefixes: list[tuple[int, ...]]) -> np.ndarray:
        """Return log p of each token (prefixes, vocabulary) after the context and prefixes."""
        inputs = []
        for prefix in prefixes:
            ids = np.array([*self.context, *prefix], np.int64)
            inputs.append(forward.windows(ids, 0, self.size, self.stride, self.start)[-1].ids)
        at_once = forward.tokens_at_once(self.model.network)
        states = last_states(self.model.network, inputs, self.layer.body, at_once)
        logs = self.layer.log_probabilities(states.to(self.layer.exact.dtype))
        return logs[:, : len(self.kind)].cpu().numpy()

    def _word(self, prefix: tuple[int, ...]) -> str | None:
        """Return the word of which these are the tokens; None if they are of no word."""
        word = self.model.tokenizer.decode(list(prefix), skip_special_tokens=False).strip()
        if len(word.split()) != 1 or self._tokens([*self.words, word]) != [*self.context, *prefix]:
            return None
        return word

    def _mass(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log masses of the SPACE and of the END tokens, (prefixes,) each."""
        masses = []
        for kind in (SPACE, END):
            chosen = logs[:, self.kind == kind]
            empty = np.full(len(logs), -np.inf)
            masses.append(np.logaddexp.reduce(chosen, 1) if chosen.shape[1] else empty)
        return masses[0], masses[1]

    def _first(self) -> np.ndarray:
        """Return log p of each first token (vocabulary,), -inf for those that begin no word."""
        logs = self._logs([()])
        space, end = self._mass(logs)
        if self.words:
            pair = [np.append(np.nan, mass) for mass in (space, end)]
            before = np.full(2, boundaries(*pair, True, self.correction)[1])
            logs[0, self.kind != SPACE] = -np.inf
        else:  # by whether the first token begins with a space
            before = np.array(
                [boundaries(space, end, marked, self.correction)[0] for marked in (False, True)]
            )
        logs[0, self.kind == END] = -np.inf
        return logs[0] - before[(self.kind == SPACE).astype(int)]

    @torch.inference_mode()
    def run(self, n: int) -> list[tuple[str, float, int]]:
        """Return the n most probable words: the word, its probability and its number of tokens.

        They are in the order of their probability. Words of a probability below LEAST are left out.
        """
        first = self._first()
        token = np.flatnonzero(first > np.log(LEAST))
        log, parent = first[token], np.zeros(len(token), np.int64)
        expanded: list[tuple[int, ...]] = [()]
        words: list[tuple[str, float, int]] = []
        # log p of the n-th word, and of the best prefix that was set aside
        limit, aside = float(np.log(LEAST)), -np.inf
        rest = np.flatnonzero((self.kind != SPACE) & (self.kind != END))
        most = max(1, min(PREFIXES, VALUES // len(self.layer.row)))
        while len(log):
            best = np.argpartition(-log, most)[:most] if len(log) > most else np.arange(len(log))
            prefixes = [(*expanded[parent[at]], int(token[at])) for at in best]
            logs = self._logs(prefixes)
            pair = [np.append(np.nan, mass) for mass in self._mass(logs)]
            ends = log[best] + boundaries(*pair, True, self.correction)[1:]
            for prefix, value in zip(prefixes, ends, strict=True):
                if value > limit and (word := self._word(prefix)) is not None:
                    words.append((word, float(value), len(prefix)))
            words = sorted(words, key=lambda word: (-word[1], word[0]))[:n]
            limit = words[-1][1] if len(words) == n else limit
            grown = log[best, None] + logs[:, rest]
            row, column = np.nonzero(grown > limit)
            log, token, parent = (
                np.append(np.delete(old, best), new)
                for old, new in (
                    (log, grown[row, column]),
                    (token, rest[column]),
                    (parent, row + len(expanded)),
                )
            )
            expanded += prefixes
            left = log > limit
            log, token, parent = log[left], token[left], parent[left]
            if len(log) > WAITING:
                order = np.argpartition(-log, WAITING)
                aside = max(aside, float(log[order[WAITING:]].max()))
                log, token, parent = (values[order[:WAITING]] for values in (log, token, parent))
        if aside > limit:
            raise InputError(
                f"the {n:,} most probable next words are not certain after {WAITING:,} prefixes; "
                "ask for fewer words"
            )
        return [(word, float(np.exp(value)), tokens) for word, value, tokens in words]
