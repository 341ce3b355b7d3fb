"""Biased attention as an attention function of transformers, for any model that uses the registry.

`attach` puts a bias on a model; its attention modules then hold it as `recency_bias`, and the
function registered as "recency" computes softmax(a·s + b) v: by scaled_dot_product_attention with
an additive mask where a is a number, by a plain softmax where a varies or where the attention
weights are wanted.
"""

from __future__ import annotations

import torch
from biases import build
from torch import nn
from torch.nn import functional
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "recency"
WITH_WEIGHTS = "recency_weights"


def biased_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    weights: bool = False,
    **kwargs,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attend with the module's bias; query, key, value (batch, heads, length, head width).

    `attention_mask` is None or boolean, true where a key may be seen. Returns the output as
    (batch, length, heads, head width), and the attention weights if they are asked for.
    """
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    queries, keys = query.shape[2], key.shape[2]
    a, b = module.recency_bias.dense(queries, keys, query.device, query.dtype)
    if attention_mask is not None:
        # Where padding hides every key of a query, the query may see itself: no NaN arises.
        own = torch.eye(keys, dtype=torch.bool, device=query.device)[keys - queries :]
        b = b.masked_fill(~(attention_mask | own), float("-inf"))
    if isinstance(a, float) and not weights:
        output = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=b, dropout_p=dropout, scale=scaling * a
        )
        return output.transpose(1, 2).contiguous(), None
    scores = torch.matmul(query, key.transpose(2, 3)) * scaling * a + b
    exact = torch.promote_types(query.dtype, torch.float32)
    attention = functional.softmax(scores, dim=-1, dtype=exact).to(query.dtype)
    attention = functional.dropout(attention, dropout, module.training)
    return torch.matmul(attention, value).transpose(1, 2).contiguous(), attention


def _with_weights(*args, **kwargs):
    """Attend by a plain softmax and return the weights."""
    return biased_attention(*args, weights=True, **kwargs)


AttentionInterface.register(NAME, biased_attention)
AttentionInterface.register(WITH_WEIGHTS, _with_weights)
AttentionMaskInterface.register(NAME, sdpa_mask)
AttentionMaskInterface.register(WITH_WEIGHTS, sdpa_mask)


def attention_modules(model: PreTrainedModel) -> list[nn.Module]:
    """Return the self-attention module of each layer, the lowest first."""
    return [
        module
        for name, module in model.named_modules()
        if type(module).__name__.endswith("Attention") and "cross" not in name
    ]


def attach(model: PreTrainedModel, spec: dict) -> None:
    """Put the bias that `spec` describes on the layers it names (`layers`: all, last or numbers).

    With the form `none` the model is left as it is.
    """
    if spec["form"] == "none":
        return
    modules = attention_modules(model)
    if not modules:
        raise ValueError(f"{type(model).__name__} has no attention modules that a bias can go on")
    layers = spec.get("layers", "all")
    if isinstance(layers, str):
        layers = {"all": range(len(modules)), "last": [len(modules) - 1]}[layers]
    heads = model.config.num_attention_heads
    biased, unbiased = build(spec, heads), build({"form": "none"}, heads)
    learned = any(True for _ in biased.parameters())
    for number, module in enumerate(modules):
        if number not in layers:
            module.recency_bias = unbiased
        else:  # learned weights are a layer's own; otherwise the layers share one table
            module.recency_bias = build(spec, heads) if learned else biased
    model.config._attn_implementation = NAME
