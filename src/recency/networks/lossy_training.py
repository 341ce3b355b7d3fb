"""Training with lossy contexts: like other causal LMs, but with the loss of the segments only."""

from collections.abc import Callable

import torch

from recency.errors import InputError
from recency.networks.loss import cross_entropy_sum
from recency.networks.training import Training


class LossyTraining(Training):
    """A training on rows with lossy contexts (`lossy_rows.LossyRows`).

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
