"""Training of a masked LM: like other LMs, but with the loss of the masked tokens only."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from recency.attention import biased, dropout
from recency.errors import InputError
from recency.networks.loss import cross_entropy_sum
from recency.networks.roberta import output_factors
from recency.networks.training import Training


class MaskedTraining(Training):
    """A training on masked rows (`masked_rows.MaskedRows`).

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
