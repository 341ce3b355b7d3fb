"""Networks with fresh weights, initialised as in their papers and saved with their bias.

A biased network's `config.json` holds the bias. Plain transformers refuses such a checkpoint, so
that it is never scored without its bias by mistake (as the paper's public code allows).
"""

import math

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    PreTrainedModel,
)

from recency.attention.biased import apply_bias, verify
from recency.networks import recurrent, roberta

_NEEDS_BIAS = "has an attention bias, load it with recency.load: "


class BiasedGPTNeoXConfig(GPTNeoXConfig):
    """GPT-NeoX with `bias`, an entry of the config's `biases:` table."""

    model_type = "recency_gpt_neox"
    bias: dict | None = None

    def __post_init__(self, **kwargs):
        self.hidden_act = self.hidden_act.removeprefix(_NEEDS_BIAS)
        super().__post_init__(**kwargs)

    def to_dict(self) -> dict:
        """Return the saved settings, with an activation that GPTNeoXForCausalLM refuses to load."""
        return super().to_dict() | {"hidden_act": _NEEDS_BIAS + self.hidden_act}


class BiasedGPTNeoXForCausalLM(GPTNeoXForCausalLM):
    """GPT-NeoX whose attention scores are changed by `config.bias`."""

    config_class = BiasedGPTNeoXConfig

    def __init__(self, config: BiasedGPTNeoXConfig):
        super().__init__(config)
        apply_bias(self, config.bias)  # checked by `new` and `load`: there are no weights yet


class BiasedGPT2Config(GPT2Config):
    """GPT-2 with `bias`, an entry of the config's `biases:` table."""

    model_type = "recency_gpt2"
    bias: dict | None = None

    def __post_init__(self, **kwargs):
        self.activation_function = self.activation_function.removeprefix(_NEEDS_BIAS)
        super().__post_init__(**kwargs)

    def to_dict(self) -> dict:
        """Return the saved settings, with an activation that GPT2LMHeadModel refuses to load."""
        return super().to_dict() | {"activation_function": _NEEDS_BIAS + self.activation_function}


class BiasedGPT2LMHeadModel(GPT2LMHeadModel):
    """GPT-2 whose attention scores are changed by `config.bias`."""

    config_class = BiasedGPT2Config

    def __init__(self, config: BiasedGPT2Config):
        super().__init__(config)
        apply_bias(self, config.bias)  # checked by `new` and `load`: there are no weights yet


BIASED = {
    BiasedGPTNeoXConfig: BiasedGPTNeoXForCausalLM,
    BiasedGPT2Config: BiasedGPT2LMHeadModel,
}
for _config, _model in BIASED.items():
    AutoConfig.register(_config.model_type, _config)
    AutoModelForCausalLM.register(_config, _model)


def new(architecture: dict, bias: dict, vocabulary: int, seed: int) -> PreTrainedModel:
    """Build a network of the config's `architectures:` entry with fresh weights.

    `bias` is an entry of `biases:`; a recurrent architecture contains its `memory`, an entry of
    `memories:`. The weights depend only on `seed`, not on the bias.
    """
    torch.manual_seed(seed)
    if architecture["family"] == "recurrent":
        return recurrent.new(architecture, vocabulary, seed)
    make = {"gpt_neox": _new_gpt_neox, "gpt2": _new_gpt2, "roberta": roberta.new}[
        architecture["family"]
    ]
    model = make(architecture, None if bias["form"] == "none" else bias, vocabulary, seed)
    if bias["form"] != "none" and model.device.type != "meta":  # meta weights have no values
        verify(model)
    return model


def _new_gpt_neox(
    architecture: dict, bias: dict | None, vocabulary: int, seed: int
) -> PreTrainedModel:
    """Build a Pythia; with a bias it has no rotary embedding (Clark et al. 2025, section 5).

    The vocabulary is padded to a multiple of 128, as in Pythia.
    """
    settings = {
        "vocab_size": -(-vocabulary // 128) * 128,
        "hidden_size": architecture["width"],
        "num_hidden_layers": architecture["layers"],
        "num_attention_heads": architecture["heads"],
        "intermediate_size": architecture["feed_forward"],
        "max_position_embeddings": architecture["context"],
        "rotary_pct": 0.0 if bias else architecture["rotary_fraction"],
        "hidden_act": "gelu_pytorch_tanh",
        "tie_word_embeddings": False,
        "use_parallel_residual": True,
        "hidden_dropout": architecture.get("dropout", 0.0),
        "attention_dropout": architecture.get("dropout", 0.0),
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    if bias:
        model = BiasedGPTNeoXForCausalLM(BiasedGPTNeoXConfig(bias=bias, **settings))
    else:
        model = GPTNeoXForCausalLM(GPTNeoXConfig(**settings))
    _initialise_as_pythia(model, architecture["width"], architecture["layers"], seed)
    return model


def _initialise_as_pythia(model: PreTrainedModel, width: int, layers: int, seed: int) -> None:
    """Draw weights with std √(2/5d), and 2/(L√d) for projections into the residual stream."""
    generator = torch.Generator().manual_seed(seed)
    small, added = math.sqrt(2 / (5 * width)), 2 / (layers * math.sqrt(width))
    for name, parameter in model.named_parameters():
        if "recency_bias" in name:  # a form initialises its own weights
            continue
        if parameter.dim() == 2:
            into_stream = name.endswith(("attention.dense.weight", "dense_4h_to_h.weight"))
            nn_std = added if into_stream else small
            torch.nn.init.normal_(parameter, std=nn_std, generator=generator)
        elif parameter.dim() == 1 and name.endswith("bias"):
            torch.nn.init.zeros_(parameter)


def _new_gpt2(architecture: dict, bias: dict | None, vocabulary: int, seed: int) -> PreTrainedModel:
    """Build a GPT-2 with its own initialisation; with a bias it keeps its learned positions."""
    settings = {
        "vocab_size": vocabulary,
        "n_embd": architecture["width"],
        "n_layer": architecture["layers"],
        "n_head": architecture["heads"],
        "n_inner": architecture["feed_forward"],
        "n_positions": architecture["context"],
        **dict.fromkeys(
            ("resid_pdrop", "embd_pdrop", "attn_pdrop"), architecture.get("dropout", 0.0)
        ),
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    if bias:
        return BiasedGPT2LMHeadModel(BiasedGPT2Config(bias=bias, **settings))
    return GPT2LMHeadModel(GPT2Config(**settings))


def parameter_count(model: PreTrainedModel) -> int:
    """Count the trained parameters."""
    return sum(parameter.numel() for parameter in model.parameters())
