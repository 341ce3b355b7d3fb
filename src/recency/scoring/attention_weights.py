"""Attention after softmax, layer by layer, of texts in windows: never more than one layer is held."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.attention.biased import NAME, WITH_WEIGHTS, attention_modules
from recency.errors import InputError
from recency.scoring import masked
from recency.scoring.alignment import Text
from recency.scoring.windows import window_of, windows


@dataclass
class Window:
    """A stretch of a text's inputs (the begin token, if any, then its tokens)."""

    ids: list[int]
    begin: int  # place of its first input among the text's inputs
    fresh: int  # its first position that no window before it had


@dataclass
class Head:
    """A head's place and, under a linear bias, its slope (NaN elsewhere)."""

    layer: int  # from 1
    head: int  # from 1
    slope: float


def with_weights(model: PreTrainedModel) -> None:
    """Make a network compute attention in a way that gives its weights: by a plain softmax."""
    if model.config._attn_implementation == NAME:
        model.config._attn_implementation = WITH_WEIGHTS
    elif model.config._attn_implementation != WITH_WEIGHTS:
        model.set_attn_implementation("eager")


@contextmanager
def giving_weights(model: PreTrainedModel) -> Iterator[None]:
    """Let a network compute attention `with_weights`, and then as before."""
    before = model.config._attn_implementation
    with_weights(model)
    try:
        yield
    finally:
        if model.config._attn_implementation.startswith(NAME):
            model.config._attn_implementation = before
        else:
            model.set_attn_implementation(before)


def heads(model: PreTrainedModel) -> list[Head]:
    """List the heads, layer by layer, those of a linear bias with their slopes."""
    found = []
    for layer, module in enumerate(attention_modules(model), 1):
        bias = getattr(module, "recency_bias", None)
        slopes = getattr(bias, "slopes", [np.nan] * model.config.num_attention_heads)
        found += [Head(layer, number, float(slope)) for number, slope in enumerate(slopes, 1)]
    return found


def cut(
    text: Text,
    model: PreTrainedModel,
    bos: int | None,
    stride: int | None,
    around: masked.Frame | None = None,
) -> list[Window]:
    """Cut a text into windows as surprisal does: one where it fits, else each adding `stride`.

    With what a masked LM puts `around` them they are pieces that lie end to end.
    """
    if around is not None:
        size, before = masked.room(model, around), len(around.before)
        return [
            Window(
                [*around.before, *text.ids[begin : begin + size].tolist(), *around.after],
                begin,
                before + new - begin if begin else 0,
            )
            for begin, new in masked.pieces(len(text.ids), size)
        ]
    size = window_of(model)
    step = size // 2 if stride is None else stride
    if not 1 <= step <= size:
        raise InputError(f"a stride of {step} tokens is not within the window of {size}")
    shift = 0 if bos is not None else 1
    return [
        Window(each.ids, each.start - shift, each.fresh)
        for each in windows(text.ids, 0, size, step, bos)
    ]


@torch.inference_mode()
def each_layer(
    model: PreTrainedModel, ids: list[int], see: Callable[[int, torch.Tensor], None]
) -> None:
    """Run the network on one window and show `see` each layer's (from 0) attention as it is made.

    The attention is (heads, queries, keys) after softmax, each row summing to 1. It is dropped when
    `see` returns. The network must have been given to `with_weights`.
    """

    def hook(layer: int):
        def show(module, inputs, output):
            if not isinstance(output, tuple) or len(output) < 2 or output[1] is None:
                raise InputError(
                    f"{type(module).__name__} gives no attention weights; this analysis is not for "
                    f"{type(model).__name__}"
                )
            see(layer, output[1][0].float())
            return (output[0], None, *output[2:])

        return show

    handles = [
        module.register_forward_hook(hook(layer))
        for layer, module in enumerate(attention_modules(model))
    ]
    try:
        device = next(model.parameters()).device
        model.base_model(input_ids=torch.tensor([ids], device=device), **_without_cache(model))
    finally:
        for handle in handles:
            handle.remove()


def _without_cache(model: PreTrainedModel) -> dict:
    """Return what keeps a network from holding keys and values; encoders hold none, and some refuse it."""
    return {} if getattr(model.config, "use_cache", None) is None else {"use_cache": False}


def tokens_of_words(text: Text, shift: int) -> Iterator[np.ndarray]:
    """Give for each word of a text the places of its tokens among the inputs; often one each."""
    bounds = np.searchsorted(text.word, np.arange(text.words + 1))
    for first, last in pairwise(bounds):
        yield np.arange(first, last) + shift
