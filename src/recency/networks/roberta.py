"""RoBERTa and its variants: masked LMs with other positions, an attention bias, or a CLAP head.

A network that does not differ from RoBERTa is transformers' own RobertaForMaskedLM. Any other is a
`RecencyRobertaForMaskedLM`, whose `config.json` has the differences. Plain transformers refuses it,
so that it is never scored without its bias, its positions or its head. Ê are the rows of the
embedding E, normalised to length 1; T is E or, if embeddings are `normalised`, Ê:

    x₀ = dropout(LN(T[word]·scale + position))        `scale` is √d or 1, LN is optional
    roberta   logits = T LN(gelu(W x + c)) + b         Liu et al. (2019)
    clap      logits = β T x                           β is trained, from 1
"""

import math
import zlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForMaskedLM, RobertaConfig, RobertaForMaskedLM
from transformers.models.roberta.modeling_roberta import RobertaEmbeddings

from recency.attention.biased import apply_bias
from recency.errors import InputError

#: Ids of special entries, as in RoBERTa.
BEGIN, PAD, END = 0, 1, 2
_NEEDS_RECENCY = "is no plain RoBERTa, load it with recency.load: "


class RecencyRobertaConfig(RobertaConfig):
    """RoBERTa's config with the differences from RoBERTa; `bias` is an entry of `biases:`.

    `predicted` is the number of predicted entries if the last entry, the mask, is not predicted.
    """

    model_type = "recency_roberta"
    bias: dict | None = None
    positions: str = "learned"
    head: str = "roberta"
    embedding_norm: bool = True
    embedding_scale: bool = False
    normalised_embeddings: bool = False
    predicted: int | None = None

    def __post_init__(self, **kwargs):
        self.hidden_act = self.hidden_act.removeprefix(_NEEDS_RECENCY)
        super().__post_init__(**kwargs)

    def to_dict(self) -> dict:
        """Return the saved settings, with an activation that RobertaForMaskedLM refuses to load."""
        return super().to_dict() | {"hidden_act": _NEEDS_RECENCY + self.hidden_act}


def unit_rows(weight: torch.Tensor) -> torch.Tensor:
    """Normalise the rows of a matrix to length 1; zero rows stay zero, with a finite gradient."""
    length = weight.norm(dim=-1, keepdim=True)
    return weight / torch.where(length > 0, length, torch.ones_like(length))


def sinusoids(places: torch.Tensor, width: int) -> torch.Tensor:
    """Return sinusoidal embeddings (…, width) of positions (…), sines before cosines.

    As in fairseq: wavelengths from 2π to 10,000·2π; padding, at position `PAD`, has zeros.
    """
    half = width // 2
    falling = torch.arange(half, device=places.device) * (-math.log(10_000) / max(half - 1, 1))
    angles = places[..., None] * falling.exp()
    waves = torch.cat([angles.sin(), angles.cos()], dim=-1)
    return functional.pad(waves, (0, width % 2)) * (places != PAD)[..., None]


class Embeddings(nn.Module):
    """The inputs of the first layer: words and positions."""

    def __init__(self, config: RecencyRobertaConfig):
        super().__init__()
        width, pad = config.hidden_size, config.pad_token_id
        self.normalised, self.positions = config.normalised_embeddings, config.positions
        self.scale = math.sqrt(width) if config.embedding_scale else 1.0
        self.padding_idx = pad
        self.word_embeddings = nn.Embedding(config.vocab_size, width, padding_idx=pad)
        if self.positions == "learned":
            places = config.max_position_embeddings
            self.position_embeddings = nn.Embedding(places, width, padding_idx=pad)
        norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.LayerNorm = norm if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids=None, position_ids=None, inputs_embeds=None, **unused):
        """Return x₀ (batch, length, width) of words (batch, length)."""
        if inputs_embeds is None:
            inputs_embeds = self.word_embeddings(input_ids)
            if self.normalised:
                inputs_embeds = unit_rows(inputs_embeds)
        hidden = inputs_embeds * self.scale if self.scale != 1.0 else inputs_embeds
        if self.positions != "none":
            if position_ids is None:  # padding has no position: the first word's follows PAD
                count = RobertaEmbeddings.create_position_ids_from_input_ids
                position_ids = count(input_ids, self.padding_idx)
            if self.positions == "learned":
                hidden = hidden + self.position_embeddings(position_ids)
            else:
                hidden = hidden + sinusoids(position_ids, hidden.shape[-1]).to(hidden.dtype)
        return self.dropout(self.LayerNorm(hidden))


class Decoder(nn.Module):
    """The output embedding, tied to the input embedding: logits = T x + b."""

    def __init__(self, config: RecencyRobertaConfig, bias: nn.Parameter | None = None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.vocab_size, config.hidden_size))
        self.register_parameter("bias", bias)
        self.normalised, self.predicted = config.normalised_embeddings, config.predicted

    @property
    def table(self) -> torch.Tensor:
        """T: the rows, normalised if so configured."""
        return unit_rows(self.weight) if self.normalised else self.weight

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the logits (…, entries) of states (…, width)."""
        logits = functional.linear(states, self.table, self.bias)
        if self.predicted is not None:  # finite, so that 0 · log 0 in an entropy is 0
            logits[..., self.predicted :] = torch.finfo(logits.dtype).min / 2
        return logits


class ClapHead(nn.Module):
    """Logits β T x of the last states x: the scalar β is the only further parameter."""

    def __init__(self, config: RecencyRobertaConfig):
        super().__init__()
        self.beta = nn.Parameter(torch.ones(()))
        self.decoder = Decoder(config)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the logits (…, entries) of states (…, width)."""
        return self.decoder(self.beta * states)


class RecencyRobertaForMaskedLM(RobertaForMaskedLM):
    """RoBERTa with its config's positions, head, embedding and bias."""

    config_class = RecencyRobertaConfig

    def __init__(self, config: RecencyRobertaConfig):
        super().__init__(config)
        self.roberta.embeddings = Embeddings(config)
        if config.head == "clap":
            self.lm_head = ClapHead(config)
        elif config.normalised_embeddings or config.predicted is not None:
            self.lm_head.decoder = Decoder(config, self.lm_head.bias)
        biased = {"lm_head.decoder.bias": "lm_head.bias"} if config.head == "roberta" else {}
        table = "roberta.embeddings.word_embeddings.weight"
        self._tied_weights_keys = {"lm_head.decoder.weight": table} | biased
        self.post_init()
        if config.bias:
            apply_bias(self, config.bias)  # checked by `new` and `load`: there are no weights yet

    def _init_weights(self, module):
        super()._init_weights(module)
        if isinstance(module, ClapHead):
            nn.init.ones_(module.beta)


AutoConfig.register(RecencyRobertaConfig.model_type, RecencyRobertaConfig)
AutoModelForMaskedLM.register(RecencyRobertaConfig, RecencyRobertaForMaskedLM)


def new(
    architecture: dict, bias: dict | None, vocabulary: int, seed: int, predicted: int | None = None
) -> RobertaForMaskedLM:
    """Build a network of an `architectures:` entry of family `roberta` with fresh weights.

    Each weight depends only on `seed` and its name, so networks share the weights that both have.
    `predicted` is that of the config. Raises InputError if neither positions nor a bias give the
    network the order of words.
    """
    clap = architecture.get("head", "roberta") == "clap"
    differences = {
        "bias": bias,
        "positions": architecture.get("positions", "learned"),
        "head": architecture.get("head", "roberta"),
        "embedding_norm": architecture.get("embedding_norm", True),
        "embedding_scale": architecture.get("embedding_scale", False),
        "normalised_embeddings": architecture.get("normalised_embeddings", clap),
        "predicted": predicted,
    }
    if differences["positions"] == "none" and bias is None:
        raise InputError(NO_ORDER)
    dropout = architecture.get("dropout", 0.0)
    settings = {
        "vocab_size": vocabulary,
        "hidden_size": architecture["width"],
        "num_hidden_layers": architecture["layers"],
        "num_attention_heads": architecture["heads"],
        "intermediate_size": architecture["feed_forward"],
        "max_position_embeddings": architecture["context"] + PAD + 1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": architecture.get("attention_dropout", dropout),
        "type_vocab_size": 1,
        "layer_norm_eps": 1e-5,
        "pad_token_id": PAD,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
    }
    plain = all(differences[key] == getattr(RecencyRobertaConfig, key) for key in differences)
    if plain:
        model = RobertaForMaskedLM(RobertaConfig(**settings))
        # RoBERTa has one segment type, and fairseq no vector for it: here it is fixed at zero.
        model.roberta.embeddings.token_type_embeddings.weight.requires_grad_(False)
    else:
        model = RecencyRobertaForMaskedLM(RecencyRobertaConfig(**settings, **differences))
    if model.device.type != "meta":
        _draw(model, seed)
    return model


NO_ORDER = (
    "`positions: none` without a bias of attention: the network cannot know the order of words, "
    "and each text would be a bag of words; give it a `bias`, or positions that are learned or "
    "sinusoidal"
)


@torch.no_grad()
def _draw(model: RobertaForMaskedLM, seed: int) -> None:
    """Draw matrices from N(0, 0.02), as BERT and fairseq do; padding has zeros."""
    for name, parameter in model.named_parameters():
        if name.endswith("token_type_embeddings.weight"):
            parameter.zero_()
        elif parameter.dim() == 2:
            # PyTorch's generator takes only the lowest 32 bits of a longer seed.
            words = np.random.SeedSequence([seed, zlib.crc32(name.encode())]).generate_state(1)
            parameter.normal_(std=0.02, generator=torch.Generator().manual_seed(int(words[0])))
            if name.endswith(("word_embeddings.weight", "position_embeddings.weight")):
                parameter[PAD] = 0.0


def output_factors(
    model: RobertaForMaskedLM, states: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return u (tokens, width), T (entries, width) and b or None for last states (tokens, width).

    Logits are u·Tᵀ + b, so that the loss can be computed without storing them.
    """
    head = model.lm_head
    if isinstance(head, ClapHead):
        return head.beta * states, head.decoder.table, None
    states = head.layer_norm(functional.gelu(head.dense(states)))
    table = head.decoder.table if isinstance(head.decoder, Decoder) else head.decoder.weight
    return states, table, head.bias
