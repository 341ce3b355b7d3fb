"""Training a recurrent LM on parallel streams of text: the state is carried from step to step.

The text, or its documents in an order that is shuffled for each epoch, is cut into as many streams
as a step has sequences. Each stream is read from beginning to end, `sequence_length` words a step.
Each step starts from the state of the step before. Gradients flow `bptt` words back (truncated
backpropagation through time), by default to the step's first word: with less, a step's words are
read in pieces; with more, a step reads words of those before it again, from the state that it had
before them. The states are saved with an unfinished training.
"""

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from recency.errors import InputError
from recency.networks.loss import cross_entropy_sum
from recency.networks.schedule import learning_rate
from recency.networks.stream import PLACES, stretches
from recency.networks.training import Training, in_fixed_order

#: Words of held-out text that are read per step.
VALIDATION_STEP = 128


class Streams:
    """A text as `streams` parallel streams of `length` words a step.

    `parts` are (first, last) positions in the file, concatenated: the text without held-out
    stretches. With a `seed` they are documents, whose order is shuffled for each epoch. Every word
    but the first of a stream is a target once an epoch; words that do not fill a step of all
    streams are left out.
    """

    def __init__(
        self,
        tokens: np.ndarray,
        parts: Sequence[tuple[int, int]],
        streams: int,
        length: int,
        seed: int | None = None,
    ):
        self.tokens, self.parts, self.seed = tokens, np.array(parts), seed
        self.streams, self.length = streams, length
        self._epoch: int | None = None
        self._lay_out(0)
        self.size = (int(self.ends[-1]) - 1) // streams  # inputs of a stream
        self.steps = self.size // length

    def _lay_out(self, epoch: int) -> None:
        """Arrange the parts in the order of an epoch."""
        if epoch == self._epoch:
            return
        order = np.arange(len(self.parts))
        if self.seed is not None:
            order = np.random.default_rng([self.seed, epoch]).permutation(order)
        self._epoch, self.laid_out = epoch, self.parts[order]
        self.ends = np.cumsum(self.laid_out[:, 1] - self.laid_out[:, 0])

    def step(
        self, number: int, first: int, count: int, epoch: int = 0, steps_back: int = 0
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets (count, length) of `count` streams at step `number`.

        With `steps_back` they begin so many steps earlier.
        """
        self._lay_out(epoch)
        rows = []
        for stream in range(first, min(first + count, self.streams)):
            begin = stream * self.size + (number - steps_back) * self.length
            end = min(begin + (steps_back + 1) * self.length, (stream + 1) * self.size)
            rows.append(self._read(begin, end + 1))
        rows = torch.from_numpy(np.stack(rows).astype(np.int64))
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()

    def _read(self, begin: int, end: int) -> np.ndarray:
        """Return tokens `begin` to `end` (exclusive) of the concatenated parts."""
        pieces, part = [], int(np.searchsorted(self.ends, begin, "right"))
        while begin < end:
            last, stop = int(self.laid_out[part, 1]), int(self.ends[part])
            until = min(end, stop)
            pieces.append(self.tokens[last - (stop - begin) : last - (stop - until)])
            begin, part = until, part + 1
        return np.concatenate(pieces)


class Text:
    """The training text in streams, and the validation text."""

    def __init__(
        self,
        tokens: Path,
        info: Path,
        streams: int,
        length: int,
        seed: int,
        validation: int = 0,
        held_out: Path | None = None,
        reset: str = "never",
        shuffle: str = "never",
    ):
        """Read the files as `TokenStream` does; `reset` and `shuffle` may be `document`."""
        description = json.loads(Path(info).read_text())
        self.vocabulary: int = description["vocabulary"]
        self.seed = seed
        dtype, end = description["dtype"], description["end_of_document"]
        text = np.memmap(tokens, dtype=dtype, mode="r")
        for key, value in {"reset": reset, "shuffle": shuffle}.items():
            if value == "document" and end is None:
                raise InputError(
                    f"{tokens}: nothing separates its documents, as `{key}: document` requires; write "
                    f"`{key}: never`"
                )
        self.end = end if reset == "document" else None
        parts, left_out = [(0, len(text))], []
        if validation and not held_out:
            left_out = stretches(text, validation, end)
            bounds = [0, *(bound for stretch in left_out for bound in stretch), len(text)]
            parts = [part for part in zip(bounds[::2], bounds[1::2]) if part[0] < part[1]]
        drawn = None
        if shuffle == "document":
            drawn, parts = seed, _documents(text, parts, end)
        self.training = Streams(text, parts, streams, length, drawn) if parts else None
        if self.training is None or self.training.steps == 0:
            raise InputError(
                f"{tokens}: {len(text):,} tokens do not fill {streams:,} streams of {length:,} words; "
                "give the corpus more text, or the recipe fewer `batch_sequences`"
            )
        self.validation = None
        if held_out:
            text = np.memmap(held_out, dtype=dtype, mode="r")
            left_out = [(0, len(text))]
        if left_out:
            self.validation = Streams(text, left_out, PLACES, VALIDATION_STEP)
            if self.validation.size == 0:
                raise InputError(
                    f"{held_out or tokens}: {len(text):,} tokens are too few to validate on"
                )

    @property
    def rows(self) -> int:
        """The number of sequences in an epoch."""
        return self.training.steps * self.training.streams

    def begins(self, inputs: torch.Tensor) -> torch.Tensor | None:
        """Return where in `inputs` (streams, time) a document begins; None if states are not reset.

        The token that ends a document precedes the next, as it does when a text is scored.
        """
        return None if self.end is None else inputs == self.end


def _documents(tokens: np.ndarray, parts: list[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """Return (first, last) positions of the documents of parts, each with its final token `end`."""
    documents = []
    for first, last in parts:
        ends = first + 1 + np.flatnonzero(tokens[first:last] == end)
        bounds = np.unique([first, *ends, last])
        documents += itertools.pairwise(bounds)
    return documents


def streams(job, recipe: dict) -> Text:
    """Return the text on which a job (recency.networks.train.Job) trains a recurrent network."""
    return Text(
        job.tokens,
        job.info,
        recipe["batch_sequences"],
        recipe["sequence_length"],
        job.seed,
        recipe.get("validation", {}).get("tokens", 0),
        job.held_out,
        recipe.get("reset", "never"),
        recipe.get("shuffle", "never"),
    )


class CarriedTraining(Training):
    """A training in which each step continues from the network's state after the step before."""

    def __init__(self, model, stream: Text, recipe: dict, device="cpu", rank=0, world=1):
        if world > 1:
            raise InputError(
                "`order: streams` trains on one GPU, where its states are; set `gpus: 1`"
            )
        super().__init__(model, stream, recipe, device, rank, world, compiled=False)
        length = recipe["sequence_length"]
        self.bptt = recipe.get("bptt", length)
        self.steps_back = max(self.bptt // length - 1, 0)

    @in_fixed_order
    def step(self, number: int, report: Callable[[int], None] = lambda done: None) -> torch.Tensor:
        """Do step `number` (from 1) and return its mean loss in nats, left on the device.

        The objective is the mean over a step's words or, by the recipe's `loss`, their sum, or the
        mean over streams of each stream's sum (`stream_sum`).
        """
        self.model.train()
        self._seed_dropout(number)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(number, self.recipe, self.validation)
        text, at_once = self.stream.training, self.recipe["micro_batch"]
        epoch, position = divmod(number - 1, text.steps)
        words = text.streams * text.length
        divisor = {"sum": 1, "stream_sum": text.streams}.get(self.recipe.get("loss"), words)
        if position == 0 or self.carried is None:  # a new epoch: each stream at its first word
            self.carried, self.earlier = self.model.model.start(text.streams), []
        back = min(self.steps_back, position)
        before = self.earlier[-back] if back else self.carried
        total, after = torch.zeros((), device=self.device), []
        for first in range(0, text.streams, at_once):
            report(first)
            tokens = text.step(position, first, at_once, epoch, back)
            inputs, targets = map(self._send_tokens, tokens)
            state = _map(lambda part, at=first: part[at : at + at_once], before)
            for begin, end in self._pieces(inputs.shape[1]):
                predicted = targets[:, max(begin, back * text.length) : end]
                loss, state = self._loss(inputs[:, begin:end], predicted, state)
                (loss / divisor).backward()
                state = _map(torch.Tensor.detach, state)
                total += loss.detach()
            after.append(state)
        self.earlier = [*self.earlier, self.carried][-self.steps_back :] if self.steps_back else []
        self.carried = _join_states(after)
        self._update()
        return total / words

    def _pieces(self, words: int) -> list[tuple[int, int]]:
        """Return first and last (exclusive) words of the pieces between which gradients are cut."""
        size = words if self.steps_back else self.bptt
        return [(begin, begin + size) for begin in range(0, words, size)]

    @in_fixed_order
    @torch.no_grad()
    def validation_loss(self) -> float:
        """Return the mean loss in nats on held-out text, in a few long streams, without dropout."""
        self.model.eval()
        text = self.stream.validation
        total, state = torch.zeros((), dtype=torch.float64, device=self.device), None
        for number in range(-(-text.size // text.length)):
            inputs, targets = map(self._send_tokens, text.step(number, 0, text.streams))
            loss, state = self._loss(inputs, targets, state)
            total += loss
        self.model.train()
        return total.item() / (text.size * text.streams)

    def _loss(self, inputs: torch.Tensor, targets: torch.Tensor, state) -> tuple:
        """Return the summed cross-entropy in nats of targets (streams, length), and the state.

        Targets are those of the last inputs, if there are fewer.
        """
        with self._autocast():
            output = self.network(inputs, state=state, resets=self.stream.begins(inputs))
            hidden = output.last_hidden_state[:, -targets.shape[1] :]
            hidden = hidden.to(torch.bfloat16) if self.recipe["precision"] == "bf16" else hidden
            weight = self.model.get_output_embeddings().weight
            return cross_entropy_sum(hidden, weight, targets), output.state


def _map(function: Callable, state):
    """Apply a function to every tensor of a network's state."""
    return tuple(tuple(function(tensor) for tensor in layer) for layer in state)


def _join_states(states: list):
    """Concatenate the states of groups of streams."""
    return tuple(tuple(torch.cat(tensors) for tensors in zip(*layers)) for layers in zip(*states))
