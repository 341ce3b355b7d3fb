"""Add word entropy to texts' scores, check its tolerance, and describe it for the log.

Entropy of the next word at the beginning of each word of a text (Clark, Oh & Schuler 2025).

A word is a word-initial token and the tokens after it, up to a token that begins the next word or
ends the text. The entropy at a word of the text is over all such words given the earlier text and
given that the previous word has ended: the probabilities of word-initial tokens are normalised to
sum 1. The methods are sampling (recency.scoring.next_word.next_events), enumeration of a list of
words and a beam (recency.scoring.next_word.next_events).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np
import torch

from recency.errors import InputError
from recency.scoring import forward
from recency.scoring.alignment import REST, SPACE, Text
from recency.scoring.forward import reads_on, sees_length, window_of, windows
from recency.scoring.measures import MeasureRequest
from recency.scoring.next_word.next_events import Beam, Enumeration, NextEvents, Sampling
from recency.scoring.next_word.prefix_states import (
    Branches,
    CarriedStates,
    NoBranchesError,
    WholeTexts,
)
from recency.scoring.next_word.word_entropy_settings import NAME, WordEntropy
from recency.scoring.results import UNITS
from recency.scoring.tokenizer import begin_token

#: Prefixes that run together; prefixes whose keys and values are in memory, and their bytes; tokens
#: of texts that are read together.
NODES, HELD, HELD_BYTES, TOKENS = 1024, 4096, 2**28, 512
#: Relative tolerance between two computations of a state, in float32 and in bfloat16.
CLOSE, CLOSE_BF16 = 1e-3, 1e-1


@dataclass(frozen=True)
class Root:
    """A position where a word begins: token `place` of a text, predicted after `length` inputs."""

    text: int
    place: int
    kind: int  # kind of the tokens that may begin the word
    window: int
    length: int


class Group:
    """Roots of one kind, and the tree of prefixes that continue them.

    Attributes
    ----------
    states : Tensor (roots, width)
        The states that predict the first token.
    keys : list of tuple of int
        Each root's text and position.
    """

    def __init__(self, roots, states, grow: Callable, begin: Callable, check: Callable):
        self.kind, self.states = roots[0].kind, states
        self.keys = [(root.text, root.place) for root in roots]
        self._roots, self._grow, self._begin, self._check = roots, grow, begin, check
        self.restart()

    def restart(self) -> None:
        """Restart the tree."""
        self._begin()
        self._levels: list[tuple[torch.Tensor, torch.Tensor]] = []

    def extend(self, parents: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Add a token after each of `parents` (numbers in the last level); return their states."""
        states = self._grow(parents, tokens)
        self._levels.append((parents, tokens))
        self._check(self, states)
        return states

    def line(self, node: int) -> tuple[Root, list[int]]:
        """Return the root and the tokens of a prefix in the last level."""
        tokens: list[int] = []
        for parents, here in reversed(self._levels):
            tokens.insert(0, int(here[node]))
            node = int(parents[node])
        return self._roots[node], tokens


class NextWords:
    """Compute word entropies of texts with a network.

    Parameters
    ----------
    model : recency.scoring.surprisal.Model
    output_layer : recency.scoring.output_layer.OutputLayer
    settings : WordEntropy
    start : int or None
        Begin token of each text.
    stride, window : int or None
        See `recency.scoring.causal.score`.
    bf16 : bool
        Whether matrix products are in bfloat16.
    """

    def __init__(
        self,
        model,
        output_layer,
        settings: WordEntropy,
        start,
        stride=None,
        window=None,
        bf16=False,
    ):
        if not (model.kind == SPACE).any():
            raise InputError(
                f"{NAME}: the tokenizer marks no beginnings of words (Ġ or ▁), by which words end; "
                "where its entries are whole words, `entropy` is that of the next word"
            )
        self.network, self.kind, self.start, self.bf16 = model.network, model.kind, start, bf16
        self.body = output_layer.body
        size = window_of(self.network, window)
        if settings.longest > size // 2:
            raise InputError(
                f"{NAME}: words of `longest` {settings.longest} tokens leave too little of a window of "
                f"{size} tokens for their context; set it to {size // 2} at most"
            )
        self.size = size - settings.longest + 1
        self.stride = min(stride or self.size // 2, self.size)
        events = NextEvents(output_layer)
        if settings.method == "enumeration":
            self.method = Enumeration(events, settings, model.tokenizer, self.kind)
        else:
            self.method = {"sampling": Sampling, "beam": Beam}[settings.method](events, settings)
        self.carried = reads_on(self.network)
        self.whole = WholeTexts(self.network, self.body, bf16)
        self.branches = None if sees_length(self.network) else Branches(self.network, self._body)
        self.checked = 0  # the longest text whose states were computed in two ways

    def _body(self, **inputs):
        lower = torch.autocast(self.network.device.type, torch.bfloat16, enabled=self.bf16)
        layout = (
            nullcontext()
            if self.bf16
            else forward.use_layouts(self.network, forward.WORTH_A_LAYOUT)
        )
        with lower, layout:
            return self.body(**inputs)

    @torch.inference_mode()
    def score(
        self,
        texts: Sequence[Text],
        after_last: bool = False,
        report: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[dict[str, np.ndarray]]:
        """Return the columns of each text: (tokens + 1,), nats, NaN except where a word begins.

        `after_last` adds the entropy at the end of each text. Words that do not begin with a
        word-initial token have none, since nothing marks the end of the previous word.
        """
        columns: list[dict[str, np.ndarray]] = [{} for _ in texts]
        cut = [
            (window, roots)
            for number, text in enumerate(texts)
            for window, roots in self._windows(number, text, after_last)
            if roots
        ]
        total, done = sum(len(roots) for _, roots in cut), 0
        for pack in _pack_windows(cut):
            results = list(self._pack(pack))
            for group, values in results:
                for name, of_roots in values.items():
                    for (number, token), value in zip(group.keys, of_roots, strict=True):
                        blank = np.full(len(texts[number].ids) + 1, np.nan)
                        columns[number].setdefault(name, blank)[token] = value
                done += len(group.keys)
                report(done, total)
        names = {name for of_text in columns for name in of_text}
        names |= {NAME, *(name for name, _ in self.method.settings.columns)}
        for text, of_text in zip(texts, columns, strict=True):
            for name in names:
                of_text.setdefault(name, np.full(len(text.ids) + 1, np.nan))
        return columns

    def _windows(self, number: int, text: Text, after_last: bool) -> Iterator[tuple]:
        """Yield the windows of a text (token ids), each with its roots in order."""
        if not len(text.ids):
            return
        firsts = np.unique(text.word, return_index=True)[1]
        kinds = {int(first): SPACE for first in firsts if self.kind[text.ids[first]] == SPACE}
        if self.kind[text.ids[0]] != SPACE:
            kinds[0] = REST
        if after_last:
            kinds[len(text.ids)] = SPACE
        for number_of, window in enumerate(
            windows(text.ids, number, self.size, self.stride, self.start)
        ):
            roots = [
                Root(
                    number,
                    window.start + position,
                    kinds[window.start + position],
                    number_of,
                    position + 1,
                )
                for position in range(window.fresh, len(window.ids))
                if window.start + position in kinds
            ]
            yield window.ids, roots

    def _pack(self, pack: list[tuple]) -> Iterator[tuple[Group, dict]]:
        """Score a pack of windows."""
        if self.carried:
            for ids, roots in pack:
                yield from self._carried(ids, roots)
            return
        texts = [ids for ids, _ in pack]
        roots = [(row, root) for row, (_, roots) in enumerate(pack) for root in roots]
        if self.branches is not None:
            try:
                yield from list(self._branching(texts, roots))
                return
            except NoBranchesError:
                self.branches = None
        yield from self._whole(texts, roots)

    def _at_once(self, held: int = NODES) -> int:
        """Return the number of roots in a group with `held` prefixes in memory."""
        return max(1, held // self.method.nodes)

    def _groups(self, roots: list[tuple], at_once: int) -> Iterator[list[tuple]]:
        """Cut roots into groups of one kind."""
        roots = sorted(roots, key=lambda pair: pair[1].kind != SPACE)
        for _, same in groupby(roots, key=lambda pair: pair[1].kind):
            same = list(same)
            for first in range(0, len(same), at_once):
                yield same[first : first + at_once]

    def _branching(self, texts, roots) -> Iterator[tuple[Group, dict]]:
        states = self.branches.read(texts)
        longest = max(root.length for _, root in roots)
        is_new = longest > 1.25 * self.checked

        def check(group: Group, grown: torch.Tensor) -> None:
            nonlocal is_new
            if not is_new or max(root.length for root in rows) < longest:
                return
            ends = sorted((0, len(grown) - 1), key=lambda node: group.line(node)[0].length)
            self._compare(texts, rows, group, grown, ends[-1])
            is_new = len(group._levels) < 2

        at_once = self._at_once(min(HELD, HELD_BYTES // self.branches.bytes))
        for group_roots in self._groups(roots, at_once):
            rows = {root: row for row, root in group_roots}
            text = torch.tensor([row for row, _ in group_roots], device=self.network.device)
            length = torch.tensor([r.length for _, r in group_roots], device=self.network.device)
            hidden = torch.stack([states[row][root.length - 1] for row, root in group_roots])
            group = Group(
                [root for _, root in group_roots],
                hidden,
                lambda parents, tokens: self.branches.extend(parents, tokens, NODES),
                partial(self.branches.begin, text, length),
                check,
            )
            yield group, self.method.run(group)
        self.checked = max(self.checked, longest)

    def _compare(self, texts, rows, group, grown, node: int) -> None:
        """Raise NoBranchesError if a prefix's state differs from that of its whole text."""
        root, tokens = group.line(node)
        ids = texts[rows[root]][: root.length] + tokens
        expected = self._body(
            input_ids=torch.tensor([ids], device=self.network.device), use_cache=False
        )[0][0, -1].float()
        off = (grown[node].float() - expected).abs().max()
        if not off <= (CLOSE_BF16 if self.bf16 else CLOSE) * expected.abs().max():
            raise NoBranchesError

    def _whole(self, texts, roots) -> Iterator[tuple[Group, dict]]:
        self.whole.read(texts)
        at_once = forward.tokens_at_once(self.network)
        for group_roots in self._groups(roots, self._at_once()):
            text = torch.tensor([row for row, _ in group_roots])
            length = torch.tensor([root.length for _, root in group_roots])
            self.whole.begin(text, length)
            group = Group(
                [root for _, root in group_roots],
                self.whole.roots(),
                lambda parents, tokens: self.whole.extend(parents, tokens, at_once),
                partial(self.whole.begin, text, length),
                _check_nothing,
            )
            yield group, self.method.run(group)

    def _carried(self, ids, roots) -> Iterator[tuple[Group, dict]]:
        reader, read = CarriedStates(self.network, self.bf16), 0
        for same in _group_runs(roots, self._at_once()):
            pieces = []
            for root in same:
                pieces.append(ids[read : root.length])
                read = root.length
            hidden = reader.read_on(pieces)
            begun = reader.level

            def begin(reader=reader, begun=begun) -> None:
                reader.level = begun

            group = Group(
                same,
                hidden,
                lambda parents, tokens: reader.extend(parents, tokens, NODES),
                begin,
                _check_nothing,
            )
            yield group, self.method.run(group)


def _check_nothing(group: Group, grown: torch.Tensor) -> None:
    """Check nothing: the states are not computed by attention in branches."""


def _group_runs(roots: list[Root], at_once: int) -> Iterator[list[Root]]:
    """Yield consecutive roots of one kind, at most `at_once`."""
    for _, same in groupby(roots, key=lambda root: root.kind):
        same = list(same)
        for first in range(0, len(same), at_once):
            yield same[first : first + at_once]


def _pack_windows(cut: list[tuple]) -> Iterator[list[tuple]]:
    """Group windows of similar length into packs of about TOKENS tokens."""
    pack: list[tuple] = []
    for window in sorted(cut, key=lambda pair: -len(pair[0])):
        if pack and len(pack[0][0]) * (len(pack) + 1) > TOKENS:
            yield pack
            pack = []
        pack.append(window)
    if pack:
        yield pack


REDUCTION = f"{NAME}_reduction"
BITS = UNITS["bits"]


def add(
    model,
    texts: Sequence[Text],
    scores: Sequence,
    asked: MeasureRequest,
    settings: WordEntropy,
    names: Sequence[tuple[object, Sequence[str]]],
    bos: bool | str = True,
    stride: int | None = None,
    window: int | None = None,
    precision: str = "fp32",
    report: Callable[[int, int], None] = lambda done, total: None,
    **unused,
) -> list[str]:
    """Add word entropy to the statistics of each text's scores; return notes for the log.

    Parameters
    ----------
    model : recency.scoring.surprisal.Model
    texts, scores : sequence
        Tokens of each text, and its `causal.Scores`, which are modified.
    asked : Asked
        The requested measures.
    settings : WordEntropy
    names : sequence of (item, words)
        Each text's item and words, for messages.
    bos, stride, window, precision, report
        See `recency.scoring.surprisal.score_words`.

    Raises
    ------
    InputError
        If a word's standard error, or the distance of its bounds, exceeds the tolerance.
    """
    words = NextWords(
        *(model, model.output_layers[precision], settings, begin_token(model, bos)),
        *(stride, window, precision == "bf16"),
    )
    columns = words.score(texts, REDUCTION in asked.measures, report)
    for score, column in zip(scores, columns, strict=True):
        score.statistics.update(column)
    firsts = [np.unique(text.word, return_index=True) for text in texts]
    if settings.tolerance is not None:
        _require_tolerance(settings, columns, firsts, names)
    scored = np.concatenate([column[NAME][at] for column, (_, at) in zip(columns, firsts)])
    notes = [_describe(settings, int(np.isfinite(scored).sum()), len(scored))]
    if settings.method == "sampling":
        longer = np.concatenate([column["cut"] for column in columns])
        if np.nanmax(longer, initial=0) > 0:
            notes.append(
                f"{NAME}: words of more than {settings.longest} tokens have a probability of "
                f"{np.nanmax(longer):.1e} at most, {np.nanmean(longer):.1e} on average, and end there"
            )
    if not (words.carried or words.branches):
        notes.append(
            f"{NAME}: {type(model.network).__name__} reads each prefix with its whole context, which "
            "takes many times as long; the text's pass is reused only with attention of transformers' "
            "registry and in this project's recurrent networks"
        )
    return notes


def _describe(settings: WordEntropy, scored: int, words: int) -> str:
    """Return a line on the method and the number of words with a value."""
    how = {
        "sampling": f"{settings.samples} samples a word, seed {settings.seed}, {settings.estimator}",
        "enumeration": f"{len(settings.words):,} words",
        "beam": f"{settings.beam} prefixes a step",
    }[settings.method]
    return f"{NAME}: {settings.method}, {how}; {scored:,} of {words:,} words have it"


def _require_tolerance(settings: WordEntropy, columns, firsts, names) -> None:
    """Raise InputError if a word misses the tolerance, with the one that misses it most."""
    off, where = [], []
    for column, (owners, at), (item, words) in zip(columns, firsts, names, strict=True):
        if settings.method == "beam":
            error = column[f"{NAME}_upper"][at] - column[f"{NAME}_lower"][at]
        else:
            error = column[f"{NAME}_se"][at]
        off += (error / BITS).tolist()
        where += [(item, int(number) + 1, words[number]) for number in owners]
    if not np.isfinite(off).any():
        return
    worst = int(np.nanargmax(off))
    if off[worst] <= settings.tolerance:
        return
    item, number, word = where[worst]
    within = np.nanmean(np.array(off)[np.isfinite(off)] <= settings.tolerance)
    if settings.method == "beam":
        what, way = "the bounds are apart by", "`beam`"
    else:
        more = settings.samples * (off[worst] / settings.tolerance) ** 2
        what, way = "the standard error is", f"`samples` (to about {np.ceil(more):,.0f})"
    raise InputError(
        f"{NAME}: tolerance {settings.tolerance:g} bits is not reached: item {item}, word {number} "
        f"({word!r}): {what} {off[worst]:.3g} bits; {within:.0%} of the words are within it; raise "
        f"{way} or the tolerance"
    )
