"""Check on a short input that hooks return a network's own attention and states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from recency.errors import InputError
from recency.scoring.windows import window_of

if TYPE_CHECKING:
    from recency.scoring.inside.internals import Internals

#: Relative tolerance of rounding, in float32 and in half precision.
NEAR, NEAR_IN_HALF = 1e-3, 3e-2


@torch.inference_mode()
def verify(internals: Internals) -> None:
    """Raise InputError unless a network's hooks return the attention and states that measures need.

    Checks that returning attention weights leaves the states unchanged, that the weights are those
    of a causal softmax, that the states equal `output_hidden_states`, and, for a lens, that only
    the final norm lies between the last layer and the output layer.
    """
    model, kind = internals.model, type(internals.model).__name__
    vocabulary = len(model.get_input_embeddings().weight)
    ids = torch.arange(min(8, window_of(model, 8)), device=model.device)[None]
    ids = (ids + vocabulary // 2) % vocabulary
    plain = internals.output_layer.body(input_ids=ids, use_cache=False)[0]
    with internals.returning_weights():
        observed = internals.observe(ids, torch.zeros_like(ids), use_cache=False)
        for layer in {wanted.layer for wanted in internals.with_source("attention")}:
            _verify_attention(internals, layer, ids)
    if not _is_near(observed.hidden, plain):
        raise InputError(f"{kind} computes other states where it gives its attention weights")
    looked_at = {wanted.layer for wanted in internals.with_source("predictions")}
    layers = looked_at | {wanted.layer for wanted in internals.with_source("states")}
    if layers:
        _verify_states(internals, layers, ids, plain)
    if looked_at:
        _verify_lens(internals, looked_at, ids, plain)


def _verify_attention(internals: Internals, layer: int, ids: torch.Tensor) -> None:
    """Refuse attention weights that are not causal or do not sum to 1."""
    module, seen = internals.parts.attention[layer], []
    # A copy, so that the layer's weights are freed before the next layer runs.
    handle = module.register_forward_hook(lambda *given: seen.append(given[-1][1].clone()))
    try:
        internals.output_layer.body(input_ids=ids, use_cache=False)
    finally:
        handle.remove()
    weights, many = seen[0], ids.shape[1]
    shape = (1, internals.parts.shape.heads, many, many)
    is_causal = weights.shape == shape and not weights.triu(1).any()
    sums = weights.float().sum(-1).to(weights.dtype)
    sinks = getattr(module, "sinks", None) is not None  # which take a share of the weights
    is_one = bool((sums <= 1 + NEAR_IN_HALF).all()) if sinks else _is_near(sums, sums * 0 + 1)
    if not (is_causal and is_one):
        raise InputError(
            f"{type(module).__name__} gives attention weights, {tuple(weights.shape)}, that are not "
            "those of a causal softmax, so that measures of attention do not apply to "
            f"{type(internals.model).__name__}"
        )


def _verify_states(internals: Internals, layers: set[int], ids, plain: torch.Tensor) -> None:
    """Refuse layers whose hooks differ from `output_hidden_states`."""
    model = internals.model
    stated = model.base_model(input_ids=ids, use_cache=False, output_hidden_states=True)
    stated = stated.hidden_states
    # Mamba's list begins with the first layer's output, others' with its input.
    first = 0 if _is_near(_states_at(internals, 0, ids), stated[0]) else 1
    for layer in layers - {0} if first else layers:
        last = layer == internals.parts.shape.layers
        given = plain if last else _states_at(internals, layer, ids)
        if not _is_near(given, stated[-1 if last else layer - first]):
            raise InputError(f"{type(model).__name__} does not give the states of layer {layer}")


def _verify_lens(internals: Internals, layers: set[int], ids, plain: torch.Tensor) -> None:
    """Refuse a network that does more than a norm between its last layer and its output layer."""
    shape, title = internals.parts.shape, internals.parts.shape.title
    for layer in layers - {shape.layers}:
        width = _states_at(internals, layer, ids).shape[-1]
        if width != plain.shape[-1]:
            raise InputError(
                f"measure 'layer_surprisal_l{layer}': the states of layer {layer} are {width} wide, and "
                f"{title} predicts from {plain.shape[-1]}"
            )
        last = len(internals.parts.layers)
        norm = internals.lens.norm
        states = _states_at(internals, last, ids)
        if last == shape.layers and not _is_near(norm(states) if norm else states, plain):
            raise InputError(
                f"measure 'layer_surprisal_l{layer}': {title} has more than a norm between its last "
                "layer and its output layer, so that its layers predict nothing by themselves"
            )


def _states_at(internals: Internals, layer: int, ids: torch.Tensor) -> torch.Tensor:
    """Return a layer's output states on a short input; for layer 0, the first layer's input."""
    layers, seen = internals.parts.layers, []
    if not layers:
        title = internals.parts.shape.title
        raise InputError(f"{title} does not give the states of its layers")

    def enter(module, inputs, named):
        seen.append(inputs[0] if inputs else named["hidden_states"])

    def leave(module, inputs, output):
        seen.append(output if isinstance(output, torch.Tensor) else output[0])

    if layer == 0:
        handle = layers[0].register_forward_pre_hook(enter, with_kwargs=True)
    else:
        handle = layers[layer - 1].register_forward_hook(leave)
    try:
        internals.output_layer.body(input_ids=ids, use_cache=False)
    finally:
        handle.remove()
    return seen[0]


def _is_near(given: torch.Tensor, expected: torch.Tensor) -> bool:
    """Return whether values are equal up to rounding."""
    if given.shape != expected.shape:
        return False
    share = NEAR_IN_HALF if given.itemsize < 4 or expected.itemsize < 4 else NEAR
    difference = (given.float() - expected.float()).abs().max()
    return bool(difference <= share * expected.float().abs().max().clamp_min(1e-6))
