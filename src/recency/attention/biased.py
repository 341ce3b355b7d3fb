"""Biased attention as an attention function of transformers, for any model that uses the registry.

`attach` applies a bias to a model. Its attention modules then hold the bias as `recency_bias`, and
the function registered as "recency" computes softmax(a·s + b) v. There are four backends:

flex     `flex_attention`, in training on a GPU: a and b are compiled into the kernel, which skips
         blocks of keys that a causal bias hides. For biases without learned parts, no attention
         dropout, and texts without padding (except in bidirectional models)
blocks   recency.attention.blocks: on a CPU if a is a number. For causal networks and texts longer
         than a block without padding, and for bidirectional networks with attention dropout
sdpa     `scaled_dot_product_attention` with an additive mask: otherwise, if a is a number
softmax  explicit matrix products: if a varies, if the model caps its scores or has attention sinks,
         or if attention weights are requested

A bias that depends on content (`recency.attention.content`) uses the same backends if it is a sum
of products of query and key features, which are appended to queries and keys. Otherwise the softmax
backend runs over blocks of queries.
"""

import functools

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import flex_attention as flex
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, causal_mask_function, sdpa_mask

from recency.attention import blocks, check, content
from recency.attention.biases import Bias, build
from recency.attention.content import ContentBias
from recency.errors import REFUSALS, InputError

NAME = "recency"
WITH_WEIGHTS = "recency_weights"
WITHOUT_FLEX = "recency_dense"
#: Arguments without effect here: windows are in the mask, the others concern other kernels.
WITHOUT_EFFECT = {
    "sliding_window", "position_ids", "cache_position", "deterministic", "use_cache",
    "output_attentions", "output_hidden_states", "output_router_logits", "return_dict",
}  # fmt: skip
RECURRENT = {"mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm", "recency_recurrent"}


def biased_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    weights: bool = False,
    backend: str | None = None,
    **kwargs,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attend with the module's bias; query, key, value (batch, heads, length, head width).

    Keys and values may have fewer heads, each for a group of queries. `attention_mask` is None or
    boolean, true where a key is visible. It includes a model's own window, which hides keys
    whatever the bias is; the last query sees all keys. `scaling` is 1/√d by default.

    The bias is added to the scores that enter the model's softmax. With `softcap` c (Gemma 2) these
    are s = c tanh(q·k √d⁻¹ / c): capping a·s + b instead would reveal keys that a window hides. A
    sink (`s_aux`, one per head, GPT-OSS) is a key without a position, which no bias changes.

    Returns the output (batch, length, heads, head width), and the attention weights if requested.
    `backend` is one of this module's; None selects one, `dense` selects one other than flex. Raises
    InputError for an unsupported argument.
    """
    bias = _bias_of(module, attention_mask, kwargs)
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    check.record_call(module)
    if key.shape[1] != query.shape[1]:
        groups = query.shape[1] // key.shape[1]
        key, value = (tensor.repeat_interleave(groups, dim=1) for tensor in (key, value))
    causal = getattr(module, "is_causal", True)
    if softcap is not None or s_aux is not None:
        backend = "softmax"
    layer = factors = None
    if isinstance(bias, ContentBias):
        layer = content.layer_of(module, query, key)
        factors = None if weights or backend == "softmax" else bias.factors(layer)
        backend = backend if factors else "softmax"
    fused = not weights and not dropout and (attention_mask is None or not causal)
    lengths = None
    if backend is None and dropout and not (causal or weights) and query.device.type == "cpu":
        lengths = blocks.text_lengths(attention_mask, query.shape)
        backend = "blocks" if lengths else None
    if backend in (None, "dense") and fused:
        flex_too = backend is None
        backend = (
            _fastest(query.device.type, query.shape, causal, bias.learned_by_position, flex_too)
            or backend
        )
    if backend == "flex":
        output = _flex(bias, query, key, value, scaling, causal, attention_mask, factors)
        return output.transpose(1, 2).contiguous(), None
    kind = value.dtype
    if factors:
        query, key = content.widen(layer, factors, scaling)
        value = value.to(query.dtype)
    if backend == "blocks":
        exact = torch.promote_types(value.dtype, torch.float32)
        a, b = bias.dense(query.shape[2], key.shape[2], query.device, exact, lengths is None)
        if isinstance(a, float):
            # Rotary embedding returns float32 under autocast.
            query, key = query.to(value.dtype), key.to(value.dtype)
            dropped = dropout if lengths else 0.0
            output = blocks.attend(
                query, key, value, b[0], scaling * a, bias.reach, lengths, dropped
            )
            return output.transpose(1, 2).to(kind).contiguous(), None
    a, b = bias.dense(query.shape[2], key.shape[2], query.device, query.dtype, causal)
    if attention_mask is not None:
        # If padding hides every key of a query, the query sees itself, which avoids NaN.
        keys = key.shape[2]
        itself = torch.eye(keys, dtype=torch.bool, device=query.device)[keys - query.shape[2] :]
        b = b.masked_fill(~(attention_mask | itself), float("-inf"))
    chosen = backend in (None, "dense") and isinstance(a, float) and not weights
    if backend == "sdpa" or chosen:
        output = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=b, dropout_p=dropout, scale=scaling * a
        )
        return output.transpose(1, 2).to(kind).contiguous(), None
    if layer is not None and not weights and causal:
        return _by_queries(module, layer, value, a, b, scaling, dropout, softcap, s_aux), None
    return _softmax(module, query, key, value, a, b, scaling, dropout, softcap, s_aux, layer)


def _softmax(module, query, key, value, a, b, scaling, dropout, softcap, s_aux, layer=None):
    """Attend by explicit matrix products; return the output and the attention weights."""
    scores = torch.matmul(query, key.transpose(2, 3)) * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores = content.add(module.recency_bias, layer, scores, a, b) if layer else scores * a + b
    if s_aux is not None:
        sink = s_aux.to(scores.dtype).reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, sink], dim=-1)
    exact = torch.promote_types(query.dtype, torch.float32)
    attention = functional.softmax(scores, dim=-1, dtype=exact).to(query.dtype)
    attention = attention[..., : key.shape[2]]
    attention = functional.dropout(attention, dropout, module.training)
    return torch.matmul(attention, value).transpose(1, 2).contiguous(), attention


def _by_queries(module, layer, value, a, b, *settings) -> torch.Tensor:
    """Attend by explicit matrix products, for a block of queries and the keys up to it at a time.

    This omits half of the scores, and the others fit in the processor's cache.
    """
    outputs, length = [], layer.query.shape[2]
    step = blocks.QUERIES_AT_ONCE if value.device.type == "cpu" else length
    for first in range(0, length, step):
        end = min(first + step, length)
        part = content.select_queries(layer, first, end)
        a_part = a if isinstance(a, float) else a[..., first:end, :end]
        b_part = b[..., first:end, :end]
        output, _ = _softmax(
            module, part.query, part.key, value[:, :, :end], a_part, b_part, *settings, part
        )
        outputs.append(output)
    return torch.cat(outputs, 1)


def _fastest(
    device: str, shape: tuple[int, ...], causal: bool, learned: bool, flex_too: bool
) -> str | None:
    """Return the fastest backend for attention without dropout; None if it is not a special one.

    `flex` is compiled for each length, which takes minutes when texts are scored, and needs
    Python's headers, so it is used only in training, where lengths are constant.
    """
    if device == "cpu":
        return "blocks" if causal and shape[2] > blocks.QUERIES_AT_ONCE else None
    trains = torch.is_grad_enabled() or torch.compiler.is_compiling()
    usable = device == "cuda" and shape[-1] >= 16 and not learned and trains
    return "flex" if flex_too and usable else None


def _bias_of(module: nn.Module, mask: torch.Tensor | None, arguments: dict) -> Bias:
    """Return a module's bias; raise InputError for attention that biases are not defined for."""
    kind = type(module).__name__
    bias = getattr(module, "recency_bias", None)
    if bias is None:
        raise InputError(f"{kind} is not a layer's self-attention, so it cannot take a bias")
    if mask is not None and mask.dtype != torch.bool:
        raise InputError(
            f"{kind} adds numbers to its scores (a mask of {mask.dtype}), so it cannot take a bias"
        )
    causal = getattr(module, "is_causal", True)
    for name, value in arguments.items():
        if name == "is_causal":
            is_supported = value is None or value == causal
        else:
            is_supported = value is None or value is False or name in WITHOUT_EFFECT
        if not is_supported:
            raise InputError(
                f"{kind} passes attention the argument {name}, for which no bias is "
                f"defined; {check.WORKS}"
            )
    return bias


def _flex(
    bias: Bias, query, key, value, scaling: float, causal: bool = True, mask=None, factors=None
) -> torch.Tensor:
    """Attend by `flex_attention`, fused if PyTorch compiles for the device.

    A bidirectional network may have a padding `mask` (batch, 1, queries, keys). `factors` are those
    of a content-dependent bias.
    """
    queries, keys = query.shape[2], key.shape[2]
    # Rotary embedding returns float32 under autocast. When compiled, PyTorch 2.13 mixes up the
    # strides of inputs that differ in them, which gives wrong outputs without an error.
    query, key, value = (tensor.to(value.dtype).contiguous() for tensor in (query, key, value))

    # A kernel that is compiled has the gradient of one index per tensor: each rank's factors are tensors.
    wide = (tensor.expand(*query.shape[:3], -1) for tensor in factors or ())
    ranks = list(zip(*([each.contiguous() for each in one.unbind(-1)] for one in wide)))

    def changed(score, batch, head, i, j):
        a, b = bias(head, i + (keys - queries), j, keys)
        score = a * score + b
        for left, right in ranks:
            score = score + left[batch, head, i] * right[batch, head, j]
        if mask is None:
            return score
        seen = mask[batch, 0, i, j] | (i + (keys - queries) == j)
        return torch.where(seen, score, float("-inf"))

    attend = _compiled_flex() if query.is_cuda else flex.flex_attention
    blocks = visible_blocks(bias.reach, queries, keys, query.device) if causal else None
    return attend(query, key, value, score_mod=changed, block_mask=blocks, scale=scaling)


@functools.cache
def _compiled_flex():
    # A bias's numbers are its kernel's constants. By default PyTorch makes variables of them for the
    # second bias of a form, which no kernel can have, and goes on without one, or fails.
    return torch.compile(flex.flex_attention, dynamic=False, fullgraph=True)


_BLOCKS: dict[tuple, flex.BlockMask] = {}


def visible_blocks(
    reach: int | None, queries: int, keys: int, device: torch.device
) -> flex.BlockMask:
    """Return the blocks of keys that some query sees: j ≤ i, and i - j < `reach` if given."""

    def visible(batch, head, i, j):
        distance = i + (keys - queries) - j
        return (distance >= 0) & (distance < (keys if reach is None else reach))

    where = (reach, queries, keys, device)
    if where not in _BLOCKS:
        _BLOCKS[where] = flex.create_block_mask(visible, None, None, queries, keys, device)
    return _BLOCKS[where]


def _with_weights(*args, **kwargs):
    """Attend by the softmax backend and return the weights."""
    return biased_attention(*args, weights=True, **kwargs)


def _mask(*args, attention_mask=None, mask_function=causal_mask_function, **kwargs):
    """Return None without padding, since the bias contains the causal mask.

    A compiled network gets the mask of packed texts from transformers, and keeps it.
    """
    if attention_mask is None and mask_function is causal_mask_function:
        return None
    return sdpa_mask(*args, attention_mask=attention_mask, mask_function=mask_function, **kwargs)


AttentionInterface.register(NAME, biased_attention)
AttentionInterface.register(WITH_WEIGHTS, _with_weights)
AttentionInterface.register(WITHOUT_FLEX, functools.partial(biased_attention, backend="dense"))
for _name in (NAME, WITH_WEIGHTS, WITHOUT_FLEX):
    AttentionMaskInterface.register(_name, _mask)


def attention_modules(model: PreTrainedModel) -> list[nn.Module]:
    """Return the self-attention module of each text layer, the lowest first."""
    text = model.config.get_text_config()
    pictures = text is not model.config  # a vision encoder's attention has another kind of config
    return [
        module
        for name, module in model.named_modules()
        if type(module).__name__.endswith("Attention")
        and hasattr(module, "is_causal")
        and "cross" not in name
        and "encoder_attn" not in name
        and (not pictures or type(getattr(module, "config", None)) is type(text))
    ]


def _device_of(module: nn.Module) -> torch.device:
    """Return the device that a module computes on; accelerate may store its weights elsewhere."""
    device = next(module.parameters()).device
    hooks = (getattr(candidate, "_hf_hook", None) for candidate in module.modules())
    computing = (getattr(hook, "execution_device", None) for hook in hooks)
    if device.type == "meta":
        device = torch.device(
            next((candidate for candidate in computing if candidate is not None), device)
        )
    return device


def attach(model: PreTrainedModel, spec: dict) -> None:
    """Apply the bias `spec` to the layers that it names (`layers`: all, last or numbers).

    It replaces a bias that was applied before. The network is then run on a short random text to
    check that it computes with the bias (`verify`). Raises InputError for a model that cannot take
    the bias, and leaves the model unchanged.
    """
    before = [(module, vars(module)["_modules"].get("recency_bias")) for module in model.modules()]
    content.unwatch(bias for _, bias in before)
    chosen = model.config._attn_implementation
    try:
        apply_bias(model, spec)
        verify(model)
    except REFUSALS:
        model.config._attn_implementation = chosen
        for module, bias in before:
            if bias is not None:
                module.recency_bias = bias
            elif "recency_bias" in vars(module)["_modules"]:
                del module.recency_bias
        content.watch(model, [module for module, bias in before if bias is not None])
        raise


def verify(model: PreTrainedModel) -> None:
    """Raise InputError unless a network computes with its bias.

    A short random text is run (recency.attention.check). On a GPU this omits the compiled kernel,
    which would take seconds; a training run compares the two at its first step.
    """
    modules = attention_modules(model)
    for bias in {module.recency_bias for module in modules}:
        if isinstance(bias, ContentBias):
            with check.evaluation_mode(model):
                bias.check(model)
    attention = NAME if model.device.type == "cpu" else WITHOUT_FLEX
    check.check(model, modules, attention)


def apply_bias(model: PreTrainedModel, spec: dict) -> None:
    """Apply a bias without `verify`, for a network whose weights are not loaded yet.

    Raises InputError for a model whose class cannot take the bias.
    """
    kind, config = type(model).__name__, model.config.get_text_config()
    sizes = ("num_hidden_layers", "num_attention_heads", "vocab_size")
    if config.model_type not in RECURRENT and not all(hasattr(config, size) for size in sizes):
        raise InputError(f"{kind} is not a language model that can take a bias; {check.WORKS}")
    if config.model_type in RECURRENT:
        raise InputError(
            f"{kind} is a recurrent network without attention, so it cannot take an attention "
            f"bias; attention networks can: {check.WORKS}"
        )
    if getattr(model.config, "is_encoder_decoder", False):
        raise InputError(
            f"{kind} has an encoder and a decoder, and no bias is defined between the two; causal "
            f"and masked networks take one: {check.WORKS}"
        )
    modules = attention_modules(model)
    if not modules:
        raise InputError(check.not_from_the_registry(model))
    layers = spec.get("layers", "all")
    if layers != "all" and len(modules) != config.num_hidden_layers:
        raise InputError(
            f"{kind} has {len(modules)} attention modules for {config.num_hidden_layers} layers, "
            "so a bias applies to all layers or none; leave `layers` out"
        )
    if isinstance(layers, str):
        layers = {"all": range(len(modules)), "last": [len(modules) - 1]}[layers]
    if beyond := [number for number in layers if not 0 <= number < len(modules)]:
        raise InputError(
            f"{kind} has layers 0 to {len(modules) - 1}, no layer {beyond[0]} for a bias"
        )
    heads, width = config.num_attention_heads, getattr(config, "hidden_size", None)
    biased, unbiased = build(spec, heads, width), build({"form": "none"}, heads)
    if not (biased.both_directions or all(module.is_causal for module in modules)):
        raise InputError(
            f"{kind} is bidirectional, and the form {spec['form']!r} is not defined for "
            "following tokens; linear_both, two_slopes and one_sided are"
        )
    for number, module in enumerate(modules):
        if number not in layers:
            module.recency_bias = unbiased
        else:  # learned weights are specific to a layer; other biases share one table
            layer_bias = build(spec, heads, width) if biased.learned else biased
            module.recency_bias = layer_bias.to(_device_of(module))
    content.watch(model, modules)
    model.config._attn_implementation = NAME
