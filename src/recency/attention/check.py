"""Check that a network computes with its bias; `attach` runs this before it returns.

A network is run on a short random text five times: with its own attention; with reference attention
in float64, without the bias, with it, and with every other key than the query's own hidden; and
with the function under test. The reference evaluates a and b with the form itself, for each pair of
positions, and uses the full mask that transformers builds; it shares no tables, mask or kernel with
the function under test.
"""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from recency.attention.biases import Bias
from recency.attention.content import ContentBias, layer_of
from recency.attention.short_texts import (
    ROUNDING,
    ROUNDING_OTHERS,
    TOKENS,
    distance,
    draw_texts,
    evaluation_mode,
)
from recency.errors import REFUSALS, InputError

WORKS = "GPT-2, GPT-NeoX, OPT, Llama, Mistral, Qwen, Gemma, BERT and most others do"
REFERENCE, UNBIASED = "recency_reference", "recency_reference_unbiased"
OWN_KEY_ONLY = "recency_reference_alone"
_ran: list[nn.Module] | None = None


def record_call(module: nn.Module) -> None:
    """Record, while a network is checked, that a module's attention ran with its bias."""
    if _ran is not None:
        _ran.append(module)


@contextlib.contextmanager
def _note_difference() -> Iterator[list[nn.Module]]:
    global _ran
    _ran = []
    try:
        yield _ran
    finally:
        _ran = None


def affine(bias: Bias, queries: int, keys: int, device: torch.device) -> tuple[torch.Tensor, ...]:
    """Return a and b in float64, (heads, queries, keys), evaluated at every (h, i, j)."""
    places = torch.arange(keys, device=device)
    indices = (torch.arange(bias.heads, device=device), places[keys - queries :], places)
    head, query, key = (grid.flatten() for grid in torch.meshgrid(*indices, indexing="ij"))
    terms = bias(head, query.double(), key.double(), keys)
    shape = (bias.heads, queries, keys)
    tensors = (torch.as_tensor(x, dtype=torch.float64, device=device) for x in terms)
    return tuple(x.expand(head.shape).reshape(shape) for x in tensors)


def _reference(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    biased: bool = True,
    own_key_only: bool = False,
    **kwargs,
) -> tuple[torch.Tensor, None]:
    """Attend in float64: softmax over a·s + b of the visible keys and the sink; no dropout.

    With `own_key_only` a query sees only its own key.
    """
    q, k, v = query.double(), key.double(), value.double()
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = torch.einsum("nhid,nhjd->nhij", q, k)
    scores = scores / q.shape[-1] ** 0.5 if scaling is None else scores * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    queries, keys = scores.shape[-2:]
    seen = attention_mask
    if seen is None:  # the network requests no mask from transformers
        seen = torch.ones(queries, keys, dtype=torch.bool, device=query.device)
        seen = seen.tril(keys - queries) if getattr(module, "is_causal", True) else seen
    if biased:
        a, b = affine(module.recency_bias, queries, keys, query.device)
        if isinstance(module.recency_bias, ContentBias):
            layer = replace(layer_of(module, q, k), scores=scores, visible=seen[..., :keys])
            layer.inputs = layer.inputs.double()
            by_content = module.recency_bias.content(layer)
            a, b = a * by_content[0], b + by_content[1]
        scores = a * scores + b
    if own_key_only:
        seen = torch.eye(keys, dtype=torch.bool, device=query.device)[keys - queries :]
    scores = scores.masked_fill(~seen[..., :keys], -torch.inf)
    if s_aux is not None:
        sink = s_aux.double().reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, sink], dim=-1)
    output = torch.softmax(scores, dim=-1)[..., :keys] @ v
    return output.to(value.dtype).transpose(1, 2).contiguous(), None


def _whole_mask(*args, **kwargs) -> torch.Tensor:
    """Return the boolean mask, even where it could be omitted."""
    left_out = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return sdpa_mask(*args, **kwargs | left_out)


AttentionInterface.register(REFERENCE, _reference)
AttentionInterface.register(UNBIASED, functools.partial(_reference, biased=False))
AttentionInterface.register(
    OWN_KEY_ONLY, functools.partial(_reference, biased=False, own_key_only=True)
)
for _name in (REFERENCE, UNBIASED, OWN_KEY_ONLY):
    AttentionMaskInterface.register(_name, _whole_mask)


def _outputs(model: PreTrainedModel, ids: torch.Tensor, attention: str) -> torch.Tensor:
    """Return the logits in float64, centred since softmax ignores a constant shift.

    A network without a head returns its last states. Its attention is restored afterwards.
    """
    chosen = model.config._attn_implementation
    model.config._attn_implementation = attention
    try:
        output = model(input_ids=ids)
        result = output.logits if "logits" in output else output.last_hidden_state
    except REFUSALS:
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        experts = getattr(model.config, "_experts_implementation", None) not in (None, "eager")
        if experts and model.dtype == torch.float64:
            raise InputError(
                f"{type(model).__name__} in float64 cannot be run, with a bias or without, unless its "
                'experts are: model.set_experts_implementation("eager") first, or model.float()'
            ) from error
        raise InputError(
            f"{type(model).__name__} cannot be run with attention that takes a bias "
            f"({type(error).__name__}: {first}); {WORKS}"
        ) from error
    finally:
        model.config._attn_implementation = chosen
    result = result.double()
    return result - result.mean(-1, keepdim=True)


def check(model: PreTrainedModel, modules: Sequence[nn.Module], attention: str) -> None:
    """Raise InputError unless the network's outputs are those of the biases on its `modules`.

    `attention` is the registered name of the function under test. It must run in each of the
    modules and nowhere else; the network's own attention must equal the reference; outputs must
    equal the reference's, and differ from the unbiased ones where the reference's do; and no later
    token of a causal network may change an earlier one.
    """
    kind = type(model).__name__
    ids = draw_texts(
        model, max([TOKENS, *((module.recency_bias.reach or 0) + 4 for module in modules)])
    )
    with evaluation_mode(model):
        with _note_difference() as ran:
            try:
                actual = _outputs(model, ids, attention)
            except REFUSALS as error:
                # A network that does not use the function can fail on its masks.
                if error.__cause__ is not None and not ran:
                    raise InputError(not_from_the_registry(model)) from error
                raise
        _check_that_all_ran(model, modules, ran)
        first = ids[:1]
        original, unbiased, expected = (
            _outputs(model, first, implementation)
            for implementation in ("eager", UNBIASED, REFERENCE)
        )
        own_keys_only = _outputs(model, ids.flip(1), OWN_KEY_ONLY)
    actual, other = actual[:1], actual[1:]
    rounding = ROUNDING.get(model.dtype, ROUNDING_OTHERS)
    half = ids.shape[1] // 2
    kept = distance(*own_keys_only[:, -half:])  # the reversed texts have the same second half
    if not kept <= rounding:
        raise InputError(
            f"{kind} has a memory besides attention: with all other keys hidden, other tokens "
            f"still change its outputs (by {kept:.2g} of their size), which no attention bias "
            f"affects. Networks with attention only take one: {WORKS}"
        )
    parts = distance(unbiased, original)
    if not parts <= rounding:
        raise InputError(
            f"{kind} has attention with parts that no bias is defined for: softmax of its scaled "
            f"scores gives other outputs than its own attention (they differ by {parts:.2g} of "
            f"their size); {WORKS}"
        )
    effect = distance(expected, unbiased)
    error = distance(actual, expected)
    if effect > 4 * rounding and distance(actual, unbiased) <= rounding:
        raise InputError(f"{kind} gives the same outputs with the bias as without; {WORKS}")
    # The tolerance is tighter for a bias of little effect, down to rounding.
    if not error <= min(rounding, max(effect / 10, 10 * parts, rounding / 100)):
        raise InputError(
            f"{kind} with the bias gives other outputs than softmax(a·s + b) in float64 (they "
            f"differ by {error:.2g} of their size); {WORKS}"
        )
    if all(module.is_causal for module in modules):
        later = distance(other[:, :half], actual[:, :half])
        if not later <= rounding:
            raise InputError(
                f"{kind} with the bias lets later tokens change earlier ones (by {later:.2g} of "
                f"their outputs' size), though it is causal; {WORKS}"
            )


def _check_that_all_ran(
    model: PreTrainedModel, modules: Sequence[nn.Module], ran: Sequence[nn.Module]
) -> None:
    """Raise InputError unless `ran` holds all modules in order, one per layer.

    Attention outside the layers has no bias, and `_bias_of` refuses it when it runs.
    """
    kind, layers = type(model).__name__, model.config.get_text_config().num_hidden_layers
    if not ran:
        raise InputError(not_from_the_registry(model))
    if missing := [number for number, module in enumerate(modules) if module not in ran]:
        raise InputError(f"{kind}: the bias did not run in layer {missing[0]}; {WORKS}")
    if len(ran) == len(modules) and any(a is not b for a, b in zip(ran, modules, strict=True)):
        raise InputError(f"{kind} runs its layers in another order than it numbers them; {WORKS}")
    if len(ran) < layers:
        raise InputError(
            f"{kind} attends in {len(ran)} of its {layers} layers only; the others have a memory "
            f"that no attention bias affects. Networks with attention only take one: {WORKS}"
        )


def not_from_the_registry(model: PreTrainedModel) -> str:
    """Return the message for a model that computes attention without the registry."""
    return (
        f"{type(model).__name__} does not take its attention function from the registry of "
        f"transformers, so it cannot take a bias; {WORKS} (docs/surprisal.md lists families)"
    )
