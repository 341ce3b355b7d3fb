"""Biased attention of one checkpoint: a short version of recency.attention.biased.

recency.export.modelling writes this module into the file of an exported checkpoint, after the form
of its bias (`Bias`, `Form`); recency itself never computes with it.
"""

import torch
from torch.nn import functional
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, causal_mask_function, sdpa_mask

from recency.attention.biases import Bias
from recency.attention.biases.none import Form
from recency.attention.content import add, layer_of, watch

NAME = "recency_standalone"


def biased_attention(
    module, query, key, value, attention_mask, scaling=None, dropout=0.0, **kwargs
):
    """Attend by softmax(a·s + b), s = q·k/√d; tensors are (batch, heads, length, head width).

    The last query sees all keys. Returns (batch, length, heads, head width) and no weights.
    """
    if query.shape[1] != key.shape[1]:
        raise ValueError("this checkpoint's bias requires as many heads for keys as for queries")
    a, b = module.recency_bias.dense(query.shape[2], key.shape[2], query.device, query.dtype)
    if attention_mask is not None:
        # Where padding hides every key of a query, the query may see itself, which avoids NaN.
        diagonal = torch.eye(key.shape[2], dtype=torch.bool, device=query.device)[-query.shape[2] :]
        b = b.masked_fill(~(attention_mask | diagonal), float("-inf"))
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    bias = module.recency_bias
    if isinstance(a, torch.Tensor) or bias.uses_width:  # the kernel supports numbers and one table
        scores = torch.matmul(query, key.transpose(2, 3)) * scaling
        if bias.uses_width:
            scores = add(bias, layer_of(module, query, key), scores, a, b)
        else:
            scores = scores * a + b
        exact = torch.promote_types(query.dtype, torch.float32)
        weights = functional.softmax(scores, dim=-1, dtype=exact).to(query.dtype)
        output = torch.matmul(functional.dropout(weights, dropout, module.training), value)
    else:
        output = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=b, dropout_p=dropout, scale=scaling * a
        )
    return output.transpose(1, 2).contiguous(), None


def _mask(*args, attention_mask=None, mask_function=causal_mask_function, **kwargs):
    """Return None without padding: the causal mask is in the bias."""
    if attention_mask is None and mask_function is causal_mask_function:
        return None
    return sdpa_mask(*args, attention_mask=attention_mask, mask_function=mask_function, **kwargs)


AttentionInterface.register(NAME, biased_attention)
AttentionMaskInterface.register(NAME, _mask)


class _NoBias(Bias):
    """a = 1, b = 0: the layers without the bias."""

    def forward(self, head, query, key, length):
        return 1.0, torch.zeros_like(head, dtype=torch.float32)


def apply_bias(model, spec: dict) -> None:
    """Apply the bias to the layers in `spec`."""
    modules = [m for m in model.modules() if type(m).__name__.endswith("Attention")]
    layers, heads = spec.get("layers", "all"), model.config.num_attention_heads
    sizes = [heads, model.config.hidden_size] if Form.uses_width else [heads]
    if isinstance(layers, str):
        layers = {"all": range(len(modules)), "last": [len(modules) - 1]}[layers]
    parameters = {key: value for key, value in spec.items() if key not in ("form", "layers")}
    for number, module in enumerate(modules):
        attached = Form(*sizes, **parameters) if number in layers else _NoBias(heads)
        module.recency_bias = attached
    if Form.uses_width:
        watch(model, modules)
    model.config._attn_implementation = NAME
    model.base_model.register_forward_pre_hook(_require_bias)


def _require_bias(network, arguments) -> None:
    """Refuse to run after `set_attn_implementation`, which would remove the bias."""
    if network.config._attn_implementation != NAME:
        raise ValueError(
            f"the attention implementation {network.config._attn_implementation!r} omits the "
            f"bias that this network was trained with; set it back to {NAME!r}"
        )
