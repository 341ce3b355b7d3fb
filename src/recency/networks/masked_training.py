"""Training of a masked LM: like other LMs, but with the loss of the masked tokens only.

Rows begin with <s>, before a text's tokens, some of them masked. They are `full`, the text cut at
row length, or whole `examples`: as many documents, each with its </s>, as fit in a row, which is
padded. An example longer than a row is cut, with </s> as its last token, or dropped; their number
is reported.

In a row of L tokens, floor(share·L + U(0, 1)) positions are drawn without replacement. A share
`masked` of them gets the mask, a share `random` a random entry that is not special, and the rest is
unchanged (Devlin et al. 2019, section 3.1; drawn as fairseq does). Draws depend only on the seed,
the epoch and the row's number, not on other rows in the batch or on when it is read.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from recency.attention import biased, dropout
from recency.errors import InputError
from recency.networks.loss import cross_entropy_sum
from recency.networks.roberta import BEGIN, END, PAD, output_factors
from recency.networks.stream import stretches
from recency.networks.training import Training

#: Default values of a recipe's `masking` (Liu et al. 2019).
DEFAULTS = {"share": 0.15, "masked": 0.8, "random": 0.1}
#: Entries that the `roberta` family has at fixed ids.
NAMED = {"<s>": BEGIN, "<pad>": PAD, "</s>": END}
MASK = "<mask>"


@dataclass(frozen=True)
class Entries:
    """The vocabulary of a masked LM: its size, the mask, and the ids of non-special entries."""

    vocabulary: int
    mask: int
    words: np.ndarray


def entries(tokenizer: Path, vocabulary: int) -> Entries:
    """Read the entries of a tokenizer.json; raise InputError unless it suits a masked LM."""
    from tokenizers import Tokenizer

    opened = Tokenizer.from_file(str(tokenizer))
    mask = opened.token_to_id(MASK)
    if mask is None:
        raise InputError(
            f"{tokenizer} has no {MASK}, which the objective `masked` needs: take a tokenizer of `kind: "
            "masked`, or a file that has one"
        )
    for name, number in NAMED.items():
        if opened.token_to_id(name) != number:
            raise InputError(
                f"{tokenizer}: {name} has to be entry {number}, as RoBERTa has it, and is "
                f"{opened.token_to_id(name)}; take a tokenizer of `kind: masked`, or RoBERTa's file"
            )
    added = opened.get_added_tokens_decoder().items()
    special = [number for number, token in added if token.special]
    return Entries(vocabulary, mask, np.setdiff1d(np.arange(vocabulary), special))


class Masking:
    """Masking of rows; `draw` is a row's own generator (`generator`)."""

    def __init__(self, settings: Mapping, vocabulary: Entries):
        self.share, self.masked, self.random = ({**DEFAULTS, **settings}[key] for key in DEFAULTS)
        self.entries = vocabulary

    def generator(self, *numbers: int) -> np.random.Generator:
        """Return the generator of a row, from seed, epoch and row; epoch orders use another one."""
        return np.random.default_rng([*numbers, 1])

    def count(self, length: int, draw: np.random.Generator) -> int:
        """Return how many tokens of a row are masked, by the row's first draw."""
        return int(self.share * length + draw.random())

    def apply(self, row: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """Mask `row` (tokens) in place; return the masked positions in order."""
        count = self.count(len(row), draw)
        places = np.sort(draw.choice(len(row), count, replace=False))
        kind = draw.random(count)
        others = self.entries.words[draw.integers(len(self.entries.words), size=count)]
        random = (kind >= self.masked) & (kind < self.masked + self.random)
        row[places] = np.where(
            kind < self.masked, self.entries.mask, np.where(random, others, row[places])
        )
        return places


#: Epoch number of validation rows, whose masks are the same for every seed and epoch.
VALIDATION = 2**32 - 1
#: Tokens that are searched at once for ends of documents.
AT_ONCE = 1 << 24


@dataclass
class Batch:
    """Rows of a micro-batch: the network's inputs, and the masked tokens.

    `inputs` (rows, length); `seen` of the same shape, false for padding, or None without padding;
    `places` (masked,) index the flattened rows; `targets` (masked,) are the original tokens there.
    """

    inputs: torch.Tensor
    seen: torch.Tensor | None
    places: torch.Tensor
    targets: torch.Tensor

    def __iter__(self):
        return iter((self.inputs, self.seen, self.places, self.targets))


class Text:
    """Parts of a file of tokens, in rows of at most `length` - 1 tokens after <s>.

    Row r consists of stretches of the file, number `first[r]` to `first[r + 1]` (exclusive) of
    `begin` and `end`; with `rows: examples` each ends with </s>, replacing its last token if it was
    cut.
    """

    def __init__(self, tokens: np.ndarray, parts: Sequence[tuple[int, int]], length: int, rows: str,
                 longer: str = "cut"):  # fmt: skip
        self.tokens, self.length = tokens, length
        self.longer = self.documents = 0
        make = {"full": self._full, "examples": self._examples}[rows]
        self.begin, self.end, self.first = make(parts, length - 1, longer)
        held = np.concatenate([[0], np.cumsum(self.end - self.begin)])
        self.sizes = 1 + np.diff(held[self.first])  # tokens of each row, including <s>

    def __len__(self) -> int:
        return len(self.first) - 1

    def _full(self, parts, room: int, longer: str):
        """Cut each part into full rows; an incomplete last row is left out."""
        begin = np.concatenate([np.arange(a, b - room + 1, room) for a, b in parts] or [[]])
        begin = begin.astype(np.int64)
        return begin, begin + room, np.arange(len(begin) + 1)

    def _examples(self, parts, room: int, longer: str):
        """Arrange whole documents in rows, as many to a row as fit."""
        bounds = [self._documents(a, b) for a, b in parts]
        begin, end = (np.concatenate([pair[k] for pair in bounds] or [[]]).astype(np.int64)
                      for k in (0, 1))  # fmt: skip
        long = end - begin > room
        self.documents, self.longer = len(begin), int(long.sum())
        if longer == "drop":
            begin, end = begin[~long], end[~long]
        end = np.minimum(end, begin + room)
        total = np.cumsum(end - begin)
        first = [0]
        while first[-1] < len(begin):
            held = total[first[-1] - 1] if first[-1] else 0
            first.append(int(np.searchsorted(total, held + room, side="right")))
        return begin, end, np.array(first)

    def _documents(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return first and last (exclusive) tokens of a part's documents, each ending with </s>.

        A document that the part cuts off, as validation text may do, ends with the part.
        """
        after_ends = [np.zeros(0, np.int64)]
        for first in range(start, stop, AT_ONCE):
            here = self.tokens[first : min(first + AT_ONCE, stop)]
            after_ends.append(np.flatnonzero(here == END) + first + 1)
        ends = np.concatenate([*after_ends, [stop]])
        begins = np.concatenate([[start], ends[:-1]])
        kept = ends - begins > 1  # skip documents without text
        return begins[kept], ends[kept]

    def row(self, number: int) -> np.ndarray:
        """Return the tokens of a row, <s> first, without padding."""
        segments = range(self.first[number], self.first[number + 1])
        parts = [np.array([BEGIN])]
        for stretch in segments:
            parts.append(self.tokens[self.begin[stretch] : self.end[stretch]].astype(np.int64))
            if self.documents:
                parts[-1][-1] = END  # if the document was cut
        return np.concatenate(parts)


class MaskedRows:
    """The training and validation rows of a masked LM."""

    def __init__(
        self,
        tokens: Path,
        info: Path,
        tokenizer: Path,
        recipe: dict,
        seed: int,
        held_out: Path | None = None,
    ):
        """Read the files as `TokenStream` does; the recipe specifies rows and masking."""
        description = json.loads(Path(info).read_text())
        self.vocabulary: int = description["vocabulary"]
        self.masking = Masking(recipe.get("masking", {}), entries(tokenizer, self.vocabulary))
        self.length, self.order, self.seed = recipe["sequence_length"], recipe["order"], seed
        dtype, ends = description["dtype"], description["end_of_document"]
        text = np.memmap(tokens, dtype=dtype, mode="r")
        layout = (self.length, recipe.get("rows", "full"), recipe.get("longer", "cut"))
        if layout[1] == "examples" and ends != END:
            raise InputError(
                f"{tokens}: no </s> separates its documents, so rows of examples are impossible; write "
                "`rows: full` in the recipe"
            )
        parts, left_out = [(0, len(text))], []
        wanted = recipe.get("validation", {}).get("tokens", 0)
        if wanted and not held_out:
            left_out = stretches(text, wanted, ends)
            bounds = [0, *(bound for stretch in left_out for bound in stretch), len(text)]
            parts = [part for part in zip(bounds[::2], bounds[1::2]) if part[0] < part[1]]
        self.text = Text(text, parts, *layout)
        self.rows = len(self.text)
        if self.rows == 0:
            raise InputError(
                f"{tokens}: {len(text):,} tokens do not fill one row of {self.length:,}; give the corpus "
                "more text, or the recipe a smaller `sequence_length`"
            )
        if held_out:
            text = np.memmap(held_out, dtype=dtype, mode="r")
            left_out = [(0, len(text))]
        self.validation = Text(text, left_out, *layout)
        if left_out and not len(self.validation):
            raise InputError(
                f"{held_out or tokens}: the text to validate on does not fill one row of "
                f"{self.length:,} tokens; give `validation` more"
            )
        self._epoch, self._permutation = -1, None
        self.report_counts(layout[2])

    def report_counts(self, longer: str) -> None:
        """Report how many examples are longer than a row, and how many rows have no mask."""
        text, notes = self.text, []
        if text.documents:
            done = {"cut": "cut", "drop": "dropped"}[longer]
            notes.append(
                f"{text.documents:,} examples in {self.rows:,} rows; {text.longer:,} of them "
                f"({text.longer / text.documents:.1%}) longer than {self.length - 1:,} tokens, and {done}"
            )
        short = np.flatnonzero(self.masking.share * text.sizes < 1)
        draws = (self.masking.generator(self.seed, 0, int(row)) for row in short)
        empty = sum(not self.masking.count(int(text.sizes[row]), d) for row, d in zip(short, draws))
        if empty:
            notes.append(f"{empty:,} of {self.rows:,} rows have nothing masked in the first epoch")
        print(*notes, sep="\n", end="\n" * bool(notes), file=sys.stderr)

    def _epoch_and_row(self, number: int) -> tuple[int, int]:
        """Return the epoch of the training's row `number`, and its row of the text."""
        epoch, position = divmod(number, self.rows)
        if self.order == "sequential":
            return epoch, position
        if epoch != self._epoch:
            generator = np.random.default_rng([self.seed, epoch])
            self._epoch, self._permutation = epoch, generator.permutation(self.rows)
        return epoch, int(self._permutation[position])

    def count_masked(self, first: int, count: int) -> int:
        """Return how many tokens are masked in rows `first` … `first` + `count` - 1."""
        total = 0
        for number in range(first, first + count):
            epoch, row = self._epoch_and_row(number)
            draw = self.masking.generator(self.seed, epoch, row)
            total += self.masking.count(int(self.text.sizes[row]), draw)
        return total

    def batch(self, first: int, count: int) -> Batch:
        """Return rows `first` … `first` + `count` - 1 of the training's order."""
        places = [self._epoch_and_row(number) for number in range(first, first + count)]
        return self._mask_rows(self.text, [(row, (self.seed, epoch, row)) for epoch, row in places])

    def validation_batch(self, first: int, count: int) -> Batch:
        """Return at most `count` validation rows from `first` on, always with the same masks."""
        rows = range(first, min(first + count, len(self.validation)))
        return self._mask_rows(self.validation, [(row, (VALIDATION, row)) for row in rows])

    def _mask_rows(self, text: Text, rows: list[tuple[int, tuple[int, ...]]]) -> Batch:
        """Read and mask rows; each comes with the numbers that seed its draws."""
        inputs = np.full((len(rows), self.length), PAD)
        seen = np.zeros_like(inputs, dtype=bool)
        masked, targets = [], []
        for at, (number, drawn_of) in enumerate(rows):
            row = text.row(number)
            original = row.copy()
            places = self.masking.apply(row, self.masking.generator(*drawn_of))
            inputs[at, : len(row)], seen[at, : len(row)] = row, True
            masked.append(places + at * self.length)
            targets.append(original[places])
        return Batch(
            torch.from_numpy(inputs),
            None if seen.all() else torch.from_numpy(seen),
            torch.from_numpy(np.concatenate(masked)),
            torch.from_numpy(np.concatenate(targets)),
        )


def rows(job, recipe: dict) -> MaskedRows:
    """Return the rows that a job (recency.networks.train.Job) trains a masked LM on."""
    return MaskedRows(job.tokens, job.info, job.tokenizer, recipe, job.seed, job.held_out)


class MaskedTraining(Training):
    """A training on masked rows (`MaskedRows`).

    A step's loss is the mean over the masked tokens of all its rows, whatever its micro-batches.
    """

    def __init__(self, model, stream, recipe: dict, device="cpu", rank=0, world=1, compiled=None):
        super().__init__(model, stream, recipe, device, rank, world, compiled)
        if device == "cpu" and compiled is None and _drops(model):
            dropout.replace(model)
            if not any(hasattr(module, "recency_bias") for module in model.modules()):
                biased.attach(model, {"form": "none"})  # its dropout stores no attention weights

    def targets_in(self, first: int, sequences: int) -> int:
        """Return how many tokens are masked in the rows from `first` on."""
        asked = self.stream.count_masked(first, sequences)
        if not asked:
            raise InputError(
                f"nothing is masked in the {sequences:,} rows of step {first // sequences + 1}: the rows "
                "are too short for the recipe's `masking → share`; give more of them, or longer ones"
            )
        return asked

    def loss_sum(self, inputs, seen, places, targets) -> torch.Tensor:
        """Return the summed cross-entropy in nats of the `targets` at `places`."""
        with self._autocast():
            states = self._states_at(inputs, seen, places)
            states, table, bias = output_factors(self.model, states)
            states = states.to(torch.bfloat16) if self.recipe["precision"] == "bf16" else states
            return cross_entropy_sum(states, table, targets, bias)

    def _states_at(self, inputs, seen, places) -> torch.Tensor:
        """Return the last states (masked, width) at `places` of the flattened rows."""
        if self.network is not self.model.base_model:  # compiled, with constant shapes
            states = self.network(input_ids=inputs, attention_mask=seen).last_hidden_state
            return states.flatten(0, 1)[places]
        with _last_layer_at(self.model, places):
            return self.network(input_ids=inputs, attention_mask=seen).last_hidden_state[0]


def _drops(model) -> bool:
    """Return whether a network has any dropout."""
    config = model.config
    return bool(config.hidden_dropout_prob or config.attention_probs_dropout_prob)


@contextmanager
def _last_layer_at(model, places: torch.Tensor) -> Iterator[None]:
    """Have the last layer compute its token-wise parts only at `places`.

    These are all but keys, values and attention; it saves a sixth of a network of four layers.
    """

    def gathered(module, inputs):
        return tuple(tensor.flatten(0, 1).index_select(0, places)[None] for tensor in inputs)

    last = model.base_model.encoder.layer[-1].attention.output
    hook = last.register_forward_pre_hook(gathered)
    try:
        yield
    finally:
        hook.remove()
