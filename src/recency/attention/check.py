"""Whether a network computes with the bias that was put on it: what `attach` asks before it returns.

A network is run on a short random text five times: with its own attention, with attention written
out in float64 without the bias, with it and with every key but a query's own hidden, and with the
function that is to be used. The reference
takes a and b from the form itself, pair of positions by pair, and the whole mask that transformers
makes; it shares neither tables, mask nor kernel with what it checks.
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
from recency.errors import InputError

WORKS = "GPT-2, GPT-NeoX, OPT, Llama, Mistral, Qwen, Gemma, BERT and most others do"
REFERENCE, UNBIASED = "recency_reference", "recency_reference_unbiased"
ALONE = "recency_reference_alone"
#: Tokens of the text, and at most so many where a window needs more to hide one.
TOKENS, MOST_TOKENS = 12, 64
#: Distance of two outputs, as a share of their spread, that rounding alone may make.
ROUNDING = {torch.float16: 0.02, torch.bfloat16: 0.1}
ROUNDING_OTHERS = 1e-4

_ran: list[nn.Module] | None = None


def note(module: nn.Module) -> None:
    """Note, while a network is checked, that a module's attention ran with its bias."""
    if _ran is not None:
        _ran.append(module)


@contextlib.contextmanager
def _noted() -> Iterator[list[nn.Module]]:
    global _ran
    _ran = []
    try:
        yield _ran
    finally:
        _ran = None


def affine(bias: Bias, queries: int, keys: int, device: torch.device) -> tuple[torch.Tensor, ...]:
    """Return a and b in float64, (heads, queries, keys), the form called on every (h, i, j)."""
    places = torch.arange(keys, device=device)
    each = (torch.arange(bias.heads, device=device), places[keys - queries :], places)
    head, query, key = (grid.flatten() for grid in torch.meshgrid(*each, indexing="ij"))
    found = bias(head, query.double(), key.double(), keys)
    shape = (bias.heads, queries, keys)
    tensors = (torch.as_tensor(x, dtype=torch.float64, device=device) for x in found)
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
    alone: bool = False,
    **kwargs,
) -> tuple[torch.Tensor, None]:
    """Attend in float64: softmax over a·s + b of the keys seen and the sink; without dropout.

    With `alone` a query sees no key but its own.
    """
    q, k, v = query.double(), key.double(), value.double()
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = torch.einsum("nhid,nhjd->nhij", q, k)
    scores = scores / q.shape[-1] ** 0.5 if scaling is None else scores * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    queries, keys = scores.shape[-2:]
    seen = attention_mask
    if seen is None:  # its network asks transformers for no mask
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
    if alone:
        seen = torch.eye(keys, dtype=torch.bool, device=query.device)[keys - queries :]
    scores = scores.masked_fill(~seen[..., :keys], -torch.inf)
    if s_aux is not None:
        sink = s_aux.double().reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, sink], dim=-1)
    output = torch.softmax(scores, dim=-1)[..., :keys] @ v
    return output.to(value.dtype).transpose(1, 2).contiguous(), None


def _whole_mask(*args, **kwargs) -> torch.Tensor:
    """Return the boolean mask, never left out."""
    left_out = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return sdpa_mask(*args, **kwargs | left_out)


AttentionInterface.register(REFERENCE, _reference)
AttentionInterface.register(UNBIASED, functools.partial(_reference, biased=False))
AttentionInterface.register(ALONE, functools.partial(_reference, biased=False, alone=True))
for _name in (REFERENCE, UNBIASED, ALONE):
    AttentionMaskInterface.register(_name, _whole_mask)


def _text(model: PreTrainedModel, modules: Sequence[nn.Module]) -> torch.Tensor:
    """Return two random texts, (2, length), that differ in their second half alone."""
    config = model.config.get_text_config()
    length = max([TOKENS, *((module.recency_bias.reach or 0) + 4 for module in modules)])
    # Two positions are left, which RoBERTa counts but does not have.
    room = (getattr(config, "max_position_embeddings", None) or MOST_TOKENS) - 2
    length = max(2, min(length, MOST_TOKENS, room))
    special = []  # tokens that some models treat as no text, such as padding
    for name, value in config.to_dict().items():
        if name.endswith("token_id"):
            special += value if isinstance(value, list) else [value]
    words = [token for token in range(min(config.vocab_size, 5000)) if token not in special]
    generator = torch.Generator().manual_seed(1)
    chosen = torch.randint(len(words), (2, length), generator=generator)
    chosen[1, : length // 2] = chosen[0, : length // 2]
    return torch.tensor(words)[chosen].to(model.device)


@contextlib.contextmanager
def plainly(model: PreTrainedModel) -> Iterator[None]:
    """Run a network without dropout, gradients or autocast, and leave it as it was."""
    before = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad(), torch.autocast(model.device.type, enabled=False):
            yield
    finally:
        for module, training in before.items():
            module.training = training


def _outputs(model: PreTrainedModel, ids: torch.Tensor, attention: str) -> torch.Tensor:
    """Return the logits in float64, centred, since softmax does not see what they share.

    Of a network without a head it is the last states. Its attention is set back afterwards.
    """
    chosen = model.config._attn_implementation
    model.config._attn_implementation = attention
    try:
        output = model(input_ids=ids)
        found = output.logits if "logits" in output else output.last_hidden_state
    except InputError:
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
    found = found.double()
    return found - found.mean(-1, keepdim=True)


def _distance(one: torch.Tensor, other: torch.Tensor) -> float:
    """Return the size of the difference of two outputs as a share of the second's size."""
    return ((one - other).norm() / other.norm().clamp(min=1e-30)).item()


def check(model: PreTrainedModel, modules: Sequence[nn.Module], attention: str) -> None:
    """Raise InputError unless the network's outputs are those of the biases on its `modules`.

    `attention` is the name of the function in the registry. Asked: that it runs in each of the
    modules, and in nothing else; that the network computes attention as the reference knows it;
    that outputs equal the reference's, and differ from the unbiased ones where those do; and that
    no later token of a causal network changes an earlier one.
    """
    kind = type(model).__name__
    ids = _text(model, modules)
    with plainly(model):
        with _noted() as ran:
            try:
                found = _outputs(model, ids, attention)
            except InputError as error:
                # A network that has no use for the function can stumble over its masks.
                if error.__cause__ is not None and not ran:
                    raise InputError(not_from_the_registry(model)) from error
                raise
        _check_that_all_ran(model, modules, ran)
        first = ids[:1]
        own, unbiased, expected = (
            _outputs(model, first, each) for each in ("eager", UNBIASED, REFERENCE)
        )
        alone = _outputs(model, ids.flip(1), ALONE)
    found, other = found[:1], found[1:]
    rounding = ROUNDING.get(model.dtype, ROUNDING_OTHERS)
    half = ids.shape[1] // 2
    kept = _distance(*alone[:, -half:])  # the texts, from behind, are alike in their second half
    if not kept <= rounding:
        raise InputError(
            f"{kind} remembers what it does not attend to: with all other keys hidden, other tokens "
            f"still change its outputs (by {kept:.2g} of their size), where no bias of attention "
            f"reaches. Networks of attention alone take one: {WORKS}"
        )
    parts = _distance(unbiased, own)
    if not parts <= rounding:
        raise InputError(
            f"{kind} has attention with parts that no bias is defined for: softmax of its scaled "
            f"scores gives other outputs than its own attention (they differ by {parts:.2g} of "
            f"their size); {WORKS}"
        )
    effect = _distance(expected, unbiased)
    error = _distance(found, expected)
    if effect > 4 * rounding and _distance(found, unbiased) <= rounding:
        raise InputError(f"{kind} gives the same outputs with the bias as without; {WORKS}")
    # A bias of little effect is compared as closely as rounding lets it.
    if not error <= min(rounding, max(effect / 10, 10 * parts, rounding / 100)):
        raise InputError(
            f"{kind} with the bias gives other outputs than softmax(a·s + b) in float64 (they "
            f"differ by {error:.2g} of their size); {WORKS}"
        )
    if all(module.is_causal for module in modules):
        later = _distance(other[:, :half], found[:, :half])
        if not later <= rounding:
            raise InputError(
                f"{kind} with the bias lets later tokens change earlier ones (by {later:.2g} of "
                f"their outputs' size), though it is causal; {WORKS}"
            )


def _check_that_all_ran(
    model: PreTrainedModel, modules: Sequence[nn.Module], ran: Sequence[nn.Module]
) -> None:
    """Raise InputError unless `ran` holds all modules in order, and as many as there are layers.

    Attention that is no layer's has no bias, and is refused where it runs.
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
            f"{kind} attends in {len(ran)} of its {layers} layers alone; the others keep a memory "
            f"that no bias of attention reaches. Networks of attention alone take one: {WORKS}"
        )


def not_from_the_registry(model: PreTrainedModel) -> str:
    """Return why no bias goes on a model that computes attention by itself."""
    return (
        f"{type(model).__name__} does not take its attention function from the registry of "
        f"transformers, so that no bias goes on it; {WORKS} (docs/surprisal.md lists families)"
    )
