"""The most probable next words, by a best-first search over prefixes of words.

The probability of a word w after the context c is that of its corrected surprisal,

    p(w | c) = p(tokens of w | c) P_B(c w) / P_B(c),

with P_B the mass of the tokens that can follow a finished word (recency.scoring.texts). Each factor
after a prefix of tokens is 1 at most, so no word is more probable than its prefix. The search expands
the most probable prefixes first and ends when none that is left is as probable as the n-th word: the
list is then exact.
"""

import re
from collections.abc import Mapping, Sequence

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
#: Most prefixes of a word's tokenizations, each of which is read after the context.
TOKENIZED = 4096
_BYTE = re.compile("<0x([0-9A-F]{2})>")


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

    @torch.inference_mode()
    def sum_tokenizations(self, word: str, longest: int) -> float:
        """Return the probability of a word, summed over its tokenizations of at most `longest` tokens.

        The context keeps its own tokens. Raises InputError for more than TOKENIZED prefixes, and for
        a word whose own tokens are more than `longest`, unknown, or merged with the context.
        """
        tokens = self._tokens([*self.words, word])
        own, whole = tokens[len(self.context) :], b""
        texts = _texts_of_tokens(self.model.tokenizer, self.kind)
        if tokens[: len(self.context)] == self.context and all(token in texts for token in own):
            whole = b"".join(map(texts.__getitem__, own))
        if not whole:
            raise InputError(f"word {word!r} has no tokens of its own after the context")
        if self.words and self.kind[own[0]] != SPACE:
            raise InputError(
                f"tokenizations: the first token of {word!r}, {self.model.tokenizer.id_to_token(own[0])!r}, "
                "does not show that a word begins; leave `tokenizations` out"
            )
        if len(own) > longest:
            raise InputError(f"tokenizations: {word!r} has {len(own)} tokens itself; allow as many")
        prefixes = _prefixes(word, whole, texts, longest)
        first, after, total = self._first(), {}, -np.inf
        for prefix in prefixes:
            after.setdefault(prefix[:-1], []).append(prefix[-1])
        value = {(token,): first[token] for token in after[()]}
        for start in range(0, len(prefixes), PREFIXES):
            batch = prefixes[start : start + PREFIXES]
            logs = self._logs(batch)
            pair = [np.append(np.nan, mass) for mass in self._mass(logs)]
            ends = boundaries(*pair, True, self.correction)[1:]
            for prefix, row, end in zip(batch, logs, ends, strict=True):
                value |= {(*prefix, n): value[prefix] + row[n] for n in after.get(prefix, ())}
                if prefix not in after:  # a whole word
                    total = np.logaddexp(total, value[prefix] + end)
        return float(np.exp(total))


def _texts_of_tokens(tokenizer, kind: np.ndarray) -> dict[int, bytes]:
    """Return token → its text in the vocabulary's alphabet, without special tokens."""
    special = {n for n, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    entries = {n: t for t, n in tokenizer.get_vocab().items() if n < len(kind) and n not in special}
    in_bytes = sum(map(bool, map(_BYTE.fullmatch, entries.values()))) == 256  # byte fallback
    texts = {}
    for number, entry in entries.items():
        byte = _BYTE.fullmatch(entry) if in_bytes else None
        texts[number] = bytes.fromhex(byte[1]) if byte else entry.encode()
    return texts


def _prefixes(
    word: str, whole: bytes, texts: Mapping[int, bytes], longest: int
) -> list[tuple[int, ...]]:
    """Return the prefixes of all tokenizations of at most `longest` tokens, the shortest first."""
    tokens: dict[bytes, list[int]] = {}
    for number, text in texts.items():
        if text and text in whole:
            tokens.setdefault(text, []).append(number)
    size = len(whole)
    need = [size + longest] * size + [0]  # fewest tokens from a place to the end
    for place in reversed(range(size)):
        for text in tokens:
            if whole.startswith(text, place):
                need[place] = min(need[place], 1 + need[place + len(text)])
    level, found = [((), 0)], []
    for used in range(1, longest + 1):
        level = [
            ((*prefix, number), place + len(text))
            for prefix, place in level
            for text, numbers in tokens.items()
            if whole.startswith(text, place) and used + need[place + len(text)] <= longest
            for number in numbers
        ]
        found += [prefix for prefix, _ in level]
        if len(found) > TOKENIZED:
            raise InputError(
                f"tokenizations: {word!r} has more than {TOKENIZED:,} prefixes of up to {used} tokens, "
                f"each of which is read; allow fewer than {longest} tokens"
            )
    return found
