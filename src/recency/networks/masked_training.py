"""Training of a masked LM: as of another one, but that the loss is of the masked places alone."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from recency.attention import biased, dropout
from recency.errors import InputError
from recency.networks.loss import cross_entropy_sum
from recency.networks.roberta import output_factors
from recency.networks.training import Training


class MaskedTraining(Training):
    """A training whose stream (`masked_rows.MaskedRows`) says what is masked.

    A step's loss is the mean over the masked places of all its rows, whatever its micro-batches.
    """

    def __init__(self, model, stream, recipe: dict, device="cpu", rank=0, world=1, compiled=None):
        super().__init__(model, stream, recipe, device, rank, world, compiled)
        if device == "cpu" and compiled is None and _drops(model):
            dropout.replace(model)
            if not any(hasattr(module, "recency_bias") for module in model.modules()):
                biased.attach(
                    model, {"form": "none"}
                )  # its attention with dropout keeps no weights

    def targets_in(self, first: int, sequences: int) -> int:
        """Return how many places are masked in the rows from `first` on."""
        asked = self.stream.asked(first, sequences)
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
        """Return the last states (asked, width) of the places, numbered end to end."""
        if self.network is not self.model.base_model:  # compiled, with shapes that stay
            states = self.network(input_ids=inputs, attention_mask=seen).last_hidden_state
            return states.flatten(0, 1)[places]
        with _last_layer_at(self.model, places):
            return self.network(input_ids=inputs, attention_mask=seen).last_hidden_state[0]


def _drops(model) -> bool:
    """Say whether a network has dropout anywhere."""
    config = model.config
    return bool(config.hidden_dropout_prob or config.attention_probs_dropout_prob)


@contextmanager
def _last_layer_at(model, places: torch.Tensor) -> Iterator[None]:
    """Have the last layer compute what it does for each token by itself at some places alone.

    That is all but keys, values and attention; a sixth of a network of four layers is saved.
    """

    def gathered(module, inputs):
        return tuple(each.flatten(0, 1).index_select(0, places)[None] for each in inputs)

    last = model.base_model.encoder.layer[-1].attention.output
    hook = last.register_forward_pre_hook(gathered)
    try:
        yield
    finally:
        hook.remove()
