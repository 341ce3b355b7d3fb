"""Retention by surprisal: a token fades at a rate that depends on its surprisal.

a = 1, b = -m_h r_j (i - j): ALiBi's slopes m_h times the rate r_j of token j. With the token's
probability in its context, p_j = 2^(-s_j), the rate is r_j = p_j^γ if surprising tokens are
retained and r_j = 1 - p_j^γ if expected ones are. γ = 0 is the linear bias, or no bias.

s_j is the token's surprisal from the states that enter a layer of the same network (the logit
lens), or under another language model with the same tokens. No gradient flows through it.
"""

import os
from pathlib import Path

import torch
from torch import nn
from transformers import AutoModelForCausalLM, PreTrainedModel

from readingtimes.files import sha256
from recency.attention.biases.linear import by_head, slopes_of
from recency.attention.content import ContentBias, Layer, layer_around, states_among
from recency.attention.logit_lens import check_lens, surprisal, surprisal_from_logits
from recency.errors import InputError

#: Networks pad their vocabulary to a multiple of this.
PADDED = 128

PARAMETERS = {
    "slopes": {
        "description": "m_h, the fastest rates: `mix` for ALiBi's; a number for all heads; or one each",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    },
    "gain": {
        "description": "γ, the effect of surprisal; 0: none",
        "type": "number",
        "minimum": 0,
        "default": 1,
    },
    "retained": {
        "description": "which tokens fade slowly, surprising or expected ones",
        "enum": ["surprising", "expected"],
        "default": "surprising",
    },
    "layer": {
        "description": "the layer, from 0, whose input gives the surprisal; 0: the embeddings",
        "type": "integer",
        "minimum": 0,
        "default": 0,
    },
    "checkpoint": {
        "description": "a folder or Hub name of another causal LM with the same tokens, for "
        "its surprisal instead of a layer's; null: none",
        "type": ["string", "null"],
        "default": None,
    },
}


class Form(ContentBias):
    """Linear decay with distance, at a rate that depends on each token's surprisal."""

    def __init__(
        self,
        heads: int,
        width: int,
        slopes: str | float | list[float] = "mix",
        gain: float = 1,
        retained: str = "surprising",
        layer: int = 0,
        checkpoint: str | None = None,
    ):
        super().__init__(heads, width)
        self.slopes, self.gain, self.retained = slopes_of(slopes, heads), gain, retained
        self.layer, self.checkpoint = layer, checkpoint
        #: The text being read (batch, length), and its surprisal.
        self.ids: torch.Tensor | None = None
        self.bits: torch.Tensor | None = None

    def rates(self, bits: torch.Tensor) -> torch.Tensor:
        """Return the rates r of tokens from their surprisal in bits."""
        faded = torch.exp2(-self.gain * bits)
        return faded if self.retained == "surprising" else 1 - faded

    def factors(self, layer: Layer):
        """Return u = (-m i, m) and w = (r, j r): b = -m_h r_j (i - j)."""
        batch, length = layer.inputs.shape[:2]
        if self.bits is None or len(self.bits) != batch or self.bits.shape[1] < length:
            raise InputError(
                "surprisal_gated: the network was given no `input_ids`, whose surprisal it depends on"
            )
        kind = torch.promote_types(layer.inputs.dtype, torch.float32)
        rate = self.rates(self.bits[:, None, :length].to(kind))
        position = torch.arange(rate.shape[-1], device=rate.device, dtype=kind)
        head = torch.arange(self.heads, device=rate.device)[:, None]
        slope = by_head(self.slopes, head).to(kind) * torch.ones_like(position)
        right = torch.stack([rate, rate * position], -1)
        return torch.stack([-slope * position, slope], -1)[None], right

    def watch(self, model: PreTrainedModel, modules: list[nn.Module]) -> None:
        """Register hooks that compute the surprisal of each text that the network reads."""
        biased = [n for n, module in enumerate(modules) if module.recency_bias is self]
        first, last = biased[0], layer_around(model, modules[biased[-1]])
        if self.checkpoint is None and self.layer > first:
            raise InputError(
                f"surprisal_gated: surprisal is taken from the input of layer {self.layer}, and "
                f"layer {first} has the bias, which comes before; set `layers` to {self.layer} and later "
                "ones"
            )
        # In lists, so that these networks' weights are not registered as the bias's own.
        self.network, self.given = [model], []
        # A hook on the embedding, since some networks call their decoder only.
        self.handles = [model.get_input_embeddings().register_forward_pre_hook(self._read)]
        self.handles.append(last.register_forward_hook(self._drop, always_call=True))
        if self.checkpoint is None:
            layer = layer_around(model, modules[self.layer])
            self.handles.append(layer.register_forward_pre_hook(self._predict, with_kwargs=True))

    def _read(self, embedding: nn.Module, arguments: tuple) -> None:
        """Store the tokens of a text, and their surprisal under another model if one is given."""
        self.ids, self.bits = (arguments[0] if arguments else None), None
        if self.checkpoint is not None:
            self.given = self.given or [_open(self.checkpoint, self.network[0])]
            self.bits = _surprisal(self.given[0].to(self.ids.device), self.ids)

    def _predict(self, layer: nn.Module, arguments: tuple, settings: dict) -> None:
        """Compute surprisal from the states that enter a layer."""
        if self.ids is not None:
            self.bits = surprisal(self.network[0], states_among(arguments, settings), self.ids)

    def _drop(self, layer: nn.Module, arguments: tuple, output: object) -> None:
        """Release the text after the last layer that has the bias."""
        self.ids = self.bits = None

    def check(self, model: PreTrainedModel) -> None:
        """Raise InputError for a network to which the logit lens does not apply."""
        if self.checkpoint is None:
            check_lens(model)


def _fetched_folder(checkpoint: str) -> str:
    """Return the folder into which the workflow fetched a checkpoint of the Hub, else the name."""
    folder = Path(os.environ.get("RECENCY_HUB", ""), f"{checkpoint}@main")
    return str(folder) if folder.is_dir() and not Path(checkpoint).is_dir() else checkpoint


def _open(checkpoint: str, model: PreTrainedModel) -> PreTrainedModel:
    """Open the other model in float32; raise InputError unless it has the same tokens."""
    try:
        given, report = AutoModelForCausalLM.from_pretrained(
            _fetched_folder(checkpoint),
            dtype=torch.float32,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        line = str(error).splitlines()[0]
        raise InputError(
            f"surprisal_gated: checkpoint {checkpoint!r} cannot be opened: {line}"
        ) from error
    if odd := [*report["missing_keys"], *report["mismatched_keys"], *report["unexpected_keys"]]:
        raise InputError(
            f"surprisal_gated: checkpoint {checkpoint!r} lacks the weight {odd[0]}, or has no place for it; "
            "name a folder that `save_pretrained` of the whole language model wrote"
        )
    sizes = [len(lm.get_output_embeddings().weight) for lm in (given, model)]
    if len({-(-size // PADDED) for size in sizes}) > 1:
        raise InputError(
            f"surprisal_gated: checkpoint {checkpoint!r} has {sizes[0]:,} tokens and the network "
            f"{sizes[1]:,}; the two need one tokenizer"
        )
    weights = Path(_fetched_folder(checkpoint)) / "model.safetensors"
    digest = sha256(weights) if weights.is_file() else None
    before = getattr(model.config, "surprisal_gated_by", None)
    if before is not None and digest != before:
        raise InputError(
            f"surprisal_gated: {weights} is not the file that the network was trained with "
            f"(sha256 {digest} and {before})"
        )
    model.config.surprisal_gated_by = digest  # saved with the network
    return given.eval().requires_grad_(False)


@torch.no_grad()
def _surprisal(given: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """Return the surprisal of tokens (batch, length) in bits under another model; the first has 0."""
    return surprisal_from_logits(given(input_ids=ids).logits[:, :-1].float(), ids)
