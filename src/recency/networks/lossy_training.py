"""Training with lossy contexts: like other causal LMs, but with the loss of the segments only.

Rows have the begin token, retained words of context, and a segment. The text is cut into segments
of S tokens, so that each token is a target once an epoch. A segment is preceded by those words of
its document within the L - S tokens before it (L is the recipe's `sequence_length`) that are
retained. A form of erasure gives the probability of retention by the distance in words from the
segment's first token. All words within a segment are visible. Retention is drawn again in each
epoch, and depends only on the seed, the epoch and the segment.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from recency.errors import InputError
from recency.networks import erasures
from recency.networks.loss import cross_entropy_sum
from recency.networks.stream import PLACES, stretches
from recency.networks.training import Training

#: Markers of the space before a word in byte-level and SentencePiece vocabularies.
MARKS = ("Ġ", "▁")
#: Default number of tokens in a segment.
SEGMENT = 16
#: Epoch number of validation rows, whose erasures are the same for every seed and epoch.
VALIDATION = 2**32 - 1
#: Tokens that are counted at once, and rows whose lengths determine the micro-batch.
AT_ONCE, TYPICAL = 1 << 24, 64


def word_initial(tokenizer: Path, vocabulary: int) -> np.ndarray:
    """Return whether each entry (vocabulary,) begins a word.

    If the tokenizer marks spaces, these are the tokens with a mark and the special ones; otherwise,
    all tokens.
    """
    from tokenizers import Tokenizer

    opened = Tokenizer.from_file(str(tokenizer))
    begins = np.zeros(vocabulary, bool)
    for token, number in opened.get_vocab(with_added_tokens=True).items():
        if token.startswith(MARKS) and number < vocabulary:
            begins[number] = True
    if not begins.any():
        return np.ones(vocabulary, bool)
    begins[[n for n in opened.get_added_tokens_decoder() if n < vocabulary]] = True
    return begins


def frequencies(tokens: np.ndarray, vocabulary: int) -> np.ndarray:
    """Return log10 of each entry's share of a text's tokens, after adding one to each count."""
    counts = np.ones(vocabulary)
    for start in range(0, len(tokens), AT_ONCE):
        counts += np.bincount(tokens[start : start + AT_ONCE], minlength=vocabulary)
    return np.log10(counts / counts.sum())


class LossyRows:
    """The training and validation rows of a causal LM with lossy contexts.

    A "sequence" of the stream is `parts` segments, L tokens of the text, so that a step has as many
    targets as without erasures; `rows` counts sequences, while row numbers count segments.
    """

    def __init__(
        self,
        tokens: Path,
        info: Path,
        tokenizer: Path,
        recipe: dict,
        seed: int,
        held_out: Path | None = None,
    ):
        """Read the files as `TokenStream` does; the recipe specifies the erasure."""
        description = json.loads(Path(info).read_text())
        self.vocabulary: int = description["vocabulary"]
        self.begin: int | None = description["end_of_document"]
        if self.begin is None:
            raise InputError(
                f"{tokens}: no token ends its documents, and lossy contexts need one, which begins each "
                "row; take a corpus and tokenizer that have it"
            )
        self.tokens = np.memmap(tokens, dtype=description["dtype"], mode="r")
        self.length, self.order, self.seed = recipe["sequence_length"], recipe["order"], seed
        lossy = recipe["lossy"]
        self.segment = lossy.get("segment", SEGMENT)
        self.parts = self.length // self.segment
        self.form = erasures.build(lossy["erasure"])
        self.begins = word_initial(tokenizer, self.vocabulary)
        self.begins[self.begin] = True
        self.frequency = None
        if "frequency" in self.form.features:
            self.frequency = frequencies(self.tokens, self.vocabulary)
        #: Whether rows are padded to `length` (for a compiled network) or to a batch's longest.
        self.has_fixed_length = False
        self.validation, self._validation_tokens = np.zeros(0, np.int64), self.tokens
        segments = np.arange(len(self.tokens) // self.segment)
        wanted = recipe.get("validation", {}).get("tokens", 0)
        if held_out:
            self._validation_tokens = np.memmap(held_out, dtype=description["dtype"], mode="r")
            self.validation = np.arange(len(self._validation_tokens) // self.segment)
        elif wanted:
            segments = self._hold_out(segments, wanted, tokens)
        self.rows = len(segments) // self.parts
        if self.rows == 0:
            raise InputError(
                f"{tokens}: {len(self.tokens):,} tokens do not fill one row of {self.length:,}; "
                "give the corpus more text, or the recipe a smaller `sequence_length`"
            )
        self._segments = segments[: self.rows * self.parts]
        self._epoch, self._permutation = -1, None

    def _hold_out(self, segments: np.ndarray, wanted: int, tokens: Path) -> np.ndarray:
        """Select the validation segments; return the segments outside the held-out stretches."""
        held = np.zeros(len(segments), bool)
        whole = np.zeros(len(segments), bool)
        for start, stop in stretches(self.tokens, wanted, self.begin):
            held[start // self.segment : -(-stop // self.segment)] = True
            whole[-(-start // self.segment) : stop // self.segment] = True
        self.validation = np.flatnonzero(whole)
        if 2 * held.sum() > len(held) or not len(self.validation):
            raise InputError(
                f"{tokens}: `validation` of {wanted:,} tokens, in {PLACES} stretches, leaves "
                f"{(~held).sum():,} of {len(held):,} segments to train on; give it another number of tokens"
            )
        return segments[~held]

    def _epoch_and_row(self, number: int) -> tuple[int, int]:
        """Return the epoch of the training's row `number`, and its segment of the text."""
        epoch, position = divmod(number, len(self._segments))
        if self.order == "shuffled" and epoch != self._epoch:
            generator = np.random.default_rng([self.seed, epoch])
            self._epoch, self._permutation = epoch, generator.permutation(len(self._segments))
        position = position if self.order == "sequential" else int(self._permutation[position])
        return epoch, int(self._segments[position])

    def row(self, tokens: np.ndarray, segment: int, drawn_of: Sequence[int]) -> np.ndarray:
        """Return a segment's row of tokens: begin token, context, segment.

        `drawn_of` are the numbers that seed the draws.
        """
        start = segment * self.segment
        here = tokens[start : start + self.segment].astype(np.int64)
        before = tokens[max(0, start - self.length + self.segment) : start].astype(np.int64)
        ends = np.flatnonzero(before == self.begin)
        before = before[ends[-1] + 1 :] if len(ends) else before
        distance = self._distances(before, bool(self.begins[here[0]]))
        retained = self._draw_retained(before, distance, np.random.default_rng([*drawn_of, 2]))
        return np.concatenate([[self.begin], before[retained], here])

    def _distances(self, before: np.ndarray, begins: bool) -> np.ndarray:
        """Return how many words back each token is; 0 is the word of the segment's first token.

        `begins` is whether that token begins a word.
        """
        started = self.begins[before]
        return np.cumsum(started[::-1])[::-1] - started + int(begins)

    def _draw_retained(
        self, before: np.ndarray, distance: np.ndarray, draw: np.random.Generator
    ) -> np.ndarray:
        """Draw for each token whether its word is retained."""
        words, word_of = np.unique(distance, return_inverse=True)
        frequency = None
        if self.frequency is not None:
            frequency = 9.0 + np.bincount(word_of, self.frequency[before], minlength=len(words))
        context = erasures.ContextWords(np.maximum(words, 1), frequency)
        retention = erasures.retention(self.form, context, self.form.reach)
        # One draw per distance, whatever word has it, so that erasures are reproducible.
        drawn = draw.random(self.length + 1)[words]
        return ((drawn < retention) | (words == 0))[word_of]

    def batch(self, first: int, count: int) -> tuple[torch.Tensor, ...]:
        """Return inputs, places and targets of rows `first` … `first` + `count` - 1 (`_join_rows`)."""
        places = [self._epoch_and_row(number) for number in range(first, first + count)]
        return self._join_rows(
            [
                self.row(self.tokens, segment, (self.seed, epoch, segment))
                for epoch, segment in places
            ]
        )

    def validation_batch(self, first: int, count: int) -> tuple[torch.Tensor, ...]:
        """Return at most `count` validation rows from `first` on, always with the same erasures."""
        rows = self.validation[first : first + count].tolist()
        tokens = self._validation_tokens
        return self._join_rows(
            [self.row(tokens, segment, (VALIDATION, segment)) for segment in rows]
        )

    def _join_rows(self, rows: list[np.ndarray]) -> tuple[torch.Tensor, ...]:
        """Return inputs (rows, length) padded at the end, places (targets,) and targets (targets,).

        Places index the flattened inputs: the positions that predict the segments' tokens.
        """
        length = self.length if self.has_fixed_length else max(len(row) for row in rows) - 1
        inputs = np.full((len(rows), length), self.begin)
        places, targets = [], []
        for at, row in enumerate(rows):
            inputs[at, : len(row) - 1] = row[:-1]
            last = len(row) - 1
            places.append(at * length + np.arange(last - self.segment, last))
            targets.append(row[last + 1 - self.segment :])
        return (
            torch.from_numpy(inputs),
            torch.from_numpy(np.concatenate(places)),
            torch.from_numpy(np.concatenate(targets)),
        )

    def typical_length(self) -> int:
        """Return the length of the longest of some rows."""
        count = min(TYPICAL, len(self._segments))
        return self.batch(0, count)[0].shape[1]


def rows(job, recipe: dict) -> LossyRows:
    """Return the rows with lossy contexts that a job (recency.networks.train.Job) trains on."""
    return LossyRows(job.tokens, job.info, job.tokenizer, recipe, job.seed, job.held_out)


class LossyTraining(Training):
    """A training on rows with lossy contexts (`LossyRows`).

    A step has the recipe's `batch_sequences` · `sequence_length` targets, in rows of a segment
    each. A micro-batch has as many rows as have about the tokens of `micro_batch` sequences.
    """

    def __init__(self, model, stream, recipe: dict, device="cpu", rank=0, world=1, compiled=None):
        if sees_length := [m for m in model.modules() if getattr(m, "uses_length", False)]:
            form = type(sees_length[0]).__module__.rpartition(".")[2]
            raise InputError(
                f"the bias {form!r} depends on the length of a row, and rows with lossy contexts are padded; "
                "train without `lossy`, or take another bias"
            )
        super().__init__(model, stream, recipe, device, rank, world, compiled)
        stream.has_fixed_length = self.unchecked  # if compiled, with constant shapes
        together = recipe["micro_batch"] * recipe["sequence_length"] // stream.typical_length()
        sequences = recipe["batch_sequences"] * stream.parts
        self.recipe = recipe | {
            "batch_sequences": sequences,
            "micro_batch": max(1, min(sequences, together)),
        }

    def step(self, number: int, report: Callable[[int], None] = lambda done: None) -> torch.Tensor:
        """Do step `number` as `Training.step` does; `report` gets the number of sequences begun."""
        return super().step(number, lambda rows: report(rows // self.stream.parts))

    def targets_in(self, first: int, sequences: int) -> int:
        """Return how many tokens are predicted in `sequences` rows."""
        return sequences * self.stream.segment

    def loss_sum(self, inputs, places, targets) -> torch.Tensor:
        """Return the summed cross-entropy in nats of the `targets` at `places`."""
        with self._autocast():
            hidden = self.network(input_ids=inputs, use_cache=False).last_hidden_state
            hidden = hidden.flatten(0, 1)[places]
            hidden = hidden.to(torch.bfloat16) if self.recipe["precision"] == "bf16" else hidden
            return cross_entropy_sum(hidden, self.model.get_output_embeddings().weight, targets)
