"""Encoder-decoders as causal LMs: the decoder's probability of a text, given the encoder's input.

The encoder's input is a prefix (`recency.surprisal(…, prefix=…)`), or empty: the special tokens that
the tokenizer puts around nothing, as in minicons. The decoder reads its start token and the special
tokens that the tokenizer puts before a text, as in training.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from recency.errors import InputError


class Decoder(nn.Module):
    """The part before the output layer: token ids → states, given what the encoder reads."""

    def __init__(self, network: nn.Module):
        """Begin with the config's start token, and with an encoder that reads the end token."""
        super().__init__()
        config, self.network = network.config, network
        start = getattr(config, "decoder_start_token_id", None)
        if start is None:
            raise InputError(
                f"{type(network).__name__}: its config names no `decoder_start_token_id`, the token "
                "that the decoder begins with; add it to config.json"
            )
        end = config.eos_token_id if isinstance(config.eos_token_id, int) else start
        self.register_buffer("source", torch.tensor([[end]]), persistent=False)
        self.register_buffer("begin", torch.tensor([[start]]), persistent=False)

    def forward(
        self, input_ids: torch.Tensor, use_cache: bool = False, **more: Any
    ) -> tuple[torch.Tensor]:
        """Return the inputs of the output layer, (texts, tokens, width)."""
        given = read_output_inputs(self.network, **self.arguments(input_ids, more))
        return (given[0][:, self.begin.shape[1] - 1 :],)

    def arguments(self, ids: torch.Tensor, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return the network's arguments for texts, whose first token is the last of `begin`.

        Raises InputError for further arguments (`more`), as of hidden states or a cache.
        """
        if more:
            raise InputError(
                f"{type(self.network).__name__} is an encoder-decoder, of which surprisal and measures of "
                f"the next token are computed, without {', '.join(more)}; take a causal LM for this"
            )
        rows = len(ids)
        read = self.network.get_encoder()(input_ids=self.source)[0]
        ids = torch.cat([self.begin[:, :-1].expand(rows, -1), ids], 1)
        return {
            "encoder_outputs": (read.expand(rows, -1, -1),),
            "attention_mask": self.source.new_ones(rows, self.source.shape[1]),
            "decoder_input_ids": ids,
            "use_cache": False,
        }


class EncoderDecoderLM(nn.Module):
    """An encoder-decoder with the interface of a causal LM."""

    def __init__(self, network: nn.Module):
        """Take a transformers network, …ForConditionalGeneration."""
        super().__init__()
        self.base_model = Decoder(network)
        self.config, self.tokenizer = network.config, None
        self.train(network.training)

    dtype = property(lambda self: self.base_model.network.dtype)
    device = property(lambda self: self.base_model.network.device)
    #: The last of the tokens that the decoder begins with.
    start_token = property(lambda self: int(self.base_model.begin[0, -1]))
    #: Number of the tokens before it, which are read before each window.
    read_before = property(lambda self: self.base_model.begin.shape[1] - 1)

    def get_input_embeddings(self) -> nn.Module:
        """Return the embedding of tokens."""
        return self.base_model.network.get_input_embeddings()

    def get_output_embeddings(self) -> nn.Module:
        """Return the output layer."""
        return self.base_model.network.get_output_embeddings()

    def forward(self, input_ids: torch.Tensor, use_cache: bool = False, **more: Any) -> Any:
        """Return an object with `logits` (texts, tokens, vocabulary)."""
        output = self.base_model.network(**self.base_model.arguments(input_ids, more))
        return SimpleNamespace(logits=output.logits[:, self.read_before :])

    def use(self, tokenizer: Any) -> None:
        """Take the special tokens from a `tokenizers.Tokenizer`; the encoder's input is empty."""
        encoding, body = tokenizer.encode("a"), self.base_model
        special = encoding.special_tokens_mask
        before = encoding.ids[: special.index(0) if 0 in special else 0]
        begin = [int(body.begin[0, 0]), *before]
        body.begin, self.tokenizer = torch.tensor([begin], device=self.device), tokenizer
        self.read("")

    def read(self, text: str) -> None:
        """Let the encoder read a text, with the tokenizer's special tokens.

        Raises InputError for a text longer than the encoder's input.
        """
        ids = self.tokenizer.encode(text).ids or [self.config.eos_token_id]
        size = getattr(self.config, "max_position_embeddings", None) or len(ids)
        if len(ids) > size:
            raise InputError(
                f"prefix: its {len(ids):,} tokens exceed the encoder's input of {size:,}; shorten it"
            )
        self.base_model.source = torch.tensor([ids], device=self.device)


def read_output_inputs(model: nn.Module, **inputs: Any) -> list[torch.Tensor]:
    """Return the inputs of the output layer, which then runs on only one position per text.

    For networks whose head transforms the base model's output (BERT, ModernBERT, T5).
    """
    given = []

    def keep(module, arguments):
        given.append(arguments[0])
        return (arguments[0][:, :1], *arguments[1:])

    hook = model.get_output_embeddings().register_forward_pre_hook(keep)
    try:
        model(**inputs)
    finally:
        hook.remove()
    return given
