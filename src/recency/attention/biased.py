"""Biased attention as an attention function of transformers, for any model that uses the registry.

`attach` puts a bias on a model; its attention modules then hold it as `recency_bias`, and the
function registered as "recency" computes softmax(a·s + b) v. One definition, three backends:

flex     `flex_attention`, on a GPU: a and b are compiled into the kernel, blocks of keys that the
         bias hides are skipped; for biases without learned parts, texts without padding
sdpa     `scaled_dot_product_attention` with an additive mask: on a CPU, where a is a number
softmax  written out: where a varies, or where the attention weights are wanted
"""

from __future__ import annotations

import functools

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import flex_attention as flex
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, causal_mask_function, sdpa_mask

from recency.attention.biases import Bias, build
from recency.errors import InputError

NAME = "recency"
WITH_WEIGHTS = "recency_weights"
WITHOUT_FLEX = "recency_dense"
#: What some models add to attention, and this one does not have: to pass over it would be wrong.
UNKNOWN = {"softcap": "caps its attention scores", "s_aux": "has attention sinks"}


def biased_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    weights: bool = False,
    backend: str | None = None,
    **kwargs,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attend with the module's bias; query, key, value (batch, heads, length, head width).

    Keys and values may have fewer heads, each for a group of queries. `attention_mask` is None or boolean, true where a key may be seen; the last query sees all keys.
    Returns the output as (batch, length, heads, head width), and the attention weights if they are
    asked for. `backend` is one of this module's; None chooses, `dense` chooses but for flex.
    """
    for name, what in UNKNOWN.items():
        if kwargs.get(name) is not None:
            raise InputError(f"{type(module).__name__} {what} ({name}): no bias goes on it")
    bias, scaling = module.recency_bias, query.shape[-1] ** -0.5 if scaling is None else scaling
    if key.shape[1] != query.shape[1]:
        groups = query.shape[1] // key.shape[1]
        key, value = (each.repeat_interleave(groups, dim=1) for each in (key, value))
    causal = getattr(module, "is_causal", True)
    plain = not weights and attention_mask is None and not dropout and not bias.learned and causal
    if backend is None and plain and query.is_cuda and query.shape[-1] >= 16:
        backend = "flex"
    if backend == "flex":
        return _flex(bias, query, key, value, scaling).transpose(1, 2).contiguous(), None
    a, b = bias.dense(query.shape[2], key.shape[2], query.device, query.dtype, causal)
    if attention_mask is not None:
        # Where padding hides every key of a query, the query may see itself: no NaN arises.
        keys = key.shape[2]
        own = torch.eye(keys, dtype=torch.bool, device=query.device)[keys - query.shape[2] :]
        b = b.masked_fill(~(attention_mask | own), float("-inf"))
    chosen = backend in (None, "dense") and isinstance(a, float) and not weights
    if backend == "sdpa" or chosen:
        output = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=b, dropout_p=dropout, scale=scaling * a
        )
        return output.transpose(1, 2).contiguous(), None
    scores = torch.matmul(query, key.transpose(2, 3)) * scaling * a + b
    exact = torch.promote_types(query.dtype, torch.float32)
    attention = functional.softmax(scores, dim=-1, dtype=exact).to(query.dtype)
    attention = functional.dropout(attention, dropout, module.training)
    return torch.matmul(attention, value).transpose(1, 2).contiguous(), attention


def _flex(bias: Bias, query, key, value, scaling: float) -> torch.Tensor:
    """Attend by `flex_attention`, fused where PyTorch compiles for the device."""
    queries, keys = query.shape[2], key.shape[2]
    # Rotary embedding leaves float32 under autocast. Compiled, PyTorch 2.13 takes the strides of
    # one input for another's where they differ: the output is wrong without any error.
    query, key, value = (each.to(value.dtype).contiguous() for each in (query, key, value))

    def changed(score, batch, head, i, j):
        a, b = bias(head, i + (keys - queries), j, keys)
        return a * score + b

    attend = _compiled_flex() if query.is_cuda else flex.flex_attention
    blocks = visible_blocks(bias.reach, queries, keys, query.device)
    return attend(query, key, value, score_mod=changed, block_mask=blocks, scale=scaling)


@functools.cache
def _compiled_flex():
    return torch.compile(flex.flex_attention)


_BLOCKS: dict[tuple, flex.BlockMask] = {}


def visible_blocks(
    reach: int | None, queries: int, keys: int, device: torch.device
) -> flex.BlockMask:
    """Return the blocks of keys that some query sees: j ≤ i, and i - j < `reach` if it is given."""

    def visible(batch, head, i, j):
        distance = i + (keys - queries) - j
        return (distance >= 0) & (distance < (keys if reach is None else reach))

    where = (reach, queries, keys, device)
    if where not in _BLOCKS:
        _BLOCKS[where] = flex.create_block_mask(visible, None, None, queries, keys, device)
    return _BLOCKS[where]


def _with_weights(*args, **kwargs):
    """Attend by a plain softmax and return the weights."""
    return biased_attention(*args, weights=True, **kwargs)


def _mask(*args, attention_mask=None, mask_function=causal_mask_function, **kwargs):
    """Return None without padding, compiled or not: the causal mask is in the bias."""
    if attention_mask is None and mask_function is causal_mask_function:
        return None
    return sdpa_mask(*args, attention_mask=attention_mask, mask_function=mask_function, **kwargs)


AttentionInterface.register(NAME, biased_attention)
AttentionInterface.register(WITH_WEIGHTS, _with_weights)
AttentionInterface.register(WITHOUT_FLEX, functools.partial(biased_attention, backend="dense"))
for _name in (NAME, WITH_WEIGHTS, WITHOUT_FLEX):
    AttentionMaskInterface.register(_name, _mask)


def attention_modules(model: PreTrainedModel) -> list[nn.Module]:
    """Return the self-attention module of each layer, the lowest first."""
    return [
        module
        for name, module in model.named_modules()
        if type(module).__name__.endswith("Attention")
        and hasattr(module, "is_causal")
        and "cross" not in name
    ]


def attach(model: PreTrainedModel, spec: dict) -> None:
    """Put the bias that `spec` describes on the layers it names (`layers`: all, last or numbers).

    It takes the place of a bias that was put on before. Raises InputError for a model that it
    cannot go on.
    """
    kind = type(model).__name__
    modules = attention_modules(model)
    if not modules or not getattr(model, "_supports_attention_backend", False):
        raise InputError(
            f"{kind} does not take its attention function from the registry of transformers, so that "
            "no bias goes on it; GPT-2, GPT-NeoX, OPT, Llama, BERT and most others do"
        )
    layers = spec.get("layers", "all")
    if isinstance(layers, str):
        layers = {"all": range(len(modules)), "last": [len(modules) - 1]}[layers]
    if beyond := [number for number in layers if not 0 <= number < len(modules)]:
        raise InputError(
            f"{kind} has layers 0 to {len(modules) - 1}, no layer {beyond[0]} for a bias"
        )
    heads = model.config.num_attention_heads
    biased, unbiased = build(spec, heads), build({"form": "none"}, heads)
    if not (biased.both_directions or all(module.is_causal for module in modules)):
        raise InputError(
            f"{kind} sees both directions, and the form {spec['form']!r} says nothing "
            "of what comes after; linear_both does"
        )
    for number, module in enumerate(modules):
        if number not in layers:
            module.recency_bias = unbiased
        else:  # learned weights are a layer's own; otherwise the layers share one table
            module.recency_bias = build(spec, heads) if biased.learned else biased
    model.config._attn_implementation = NAME
