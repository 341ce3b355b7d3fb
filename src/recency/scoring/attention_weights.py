"""Attention weights after softmax, layer by layer, so that memory holds one layer at a time."""

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
    begin: int  # position of its first input among the text's inputs
    fresh: int  # its first position that no earlier window had


@dataclass
class Head:
    """An attention head, with its slope under a linear bias (NaN without one)."""

    layer: int  # from 1
    head: int  # from 1
    slope: float


def enable_weights(model: PreTrainedModel) -> None:
    """Switch a network to an attention implementation that returns its weights."""
    if model.config._attn_implementation == NAME:
        model.config._attn_implementation = WITH_WEIGHTS
    elif model.config._attn_implementation != WITH_WEIGHTS:
        model.set_attn_implementation("eager")


@contextmanager
def weights_enabled(model: PreTrainedModel) -> Iterator[None]:
    """Switch to an attention implementation that returns weights, and back on exit."""
    before = model.config._attn_implementation
    enable_weights(model)
    try:
        yield
    finally:
        if model.config._attn_implementation.startswith(NAME):
            model.config._attn_implementation = before
        else:
            model.set_attn_implementation(before)


def list_heads(model: PreTrainedModel) -> list[Head]:
    """List the heads, layer by layer, with their slopes under a linear bias."""
    listed = []
    for layer, module in enumerate(attention_modules(model), 1):
        bias = getattr(module, "recency_bias", None)
        slopes = getattr(bias, "slopes", [np.nan] * model.config.num_attention_heads)
        listed += [Head(layer, number, float(slope)) for number, slope in enumerate(slopes, 1)]
    return listed


def cut_windows(
    text: Text,
    model: PreTrainedModel,
    bos: int | None,
    stride: int | None,
    around: masked.Frame | None = None,
) -> list[Window]:
    """Cut a text into the windows that surprisal uses, each adding `stride` tokens.

    With the frame `around` of a masked LM, cut it into consecutive pieces instead.
    """
    if around is not None:
        size, before = masked.tokens_per_input(model, around), len(around.before)
        return [
            Window(
                [*around.before, *text.ids[begin : begin + size].tolist(), *around.after],
                begin,
                before + new - begin if begin else 0,
            )
            for begin, new in masked.cut_pieces(len(text.ids), size)
        ]
    size = window_of(model)
    step = size // 2 if stride is None else stride
    if not 1 <= step <= size:
        raise InputError(f"a stride of {step} tokens is not within the window of {size}")
    shift = 0 if bos is not None else 1
    return [
        Window(window.ids, window.start - shift, window.fresh)
        for window in windows(text.ids, 0, size, step, bos)
    ]


@torch.inference_mode()
def visit_layers(
    model: PreTrainedModel, ids: list[int], see: Callable[[int, torch.Tensor], None]
) -> None:
    """Run the network on one window and call `see` with each layer's number (from 0) and weights.

    The weights are (heads, queries, keys) after softmax; each row sums to 1. They are freed when
    `see` returns. Call `enable_weights` on the network first.
    """

    def hook(layer: int):
        def show(module, inputs, output):
            if not isinstance(output, tuple) or len(output) < 2 or output[1] is None:
                raise InputError(
                    f"{type(module).__name__} gives no attention weights; this analysis does not apply "
                    f"to {type(model).__name__}"
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
    """Return the setting that turns the key-value cache off; empty for encoders."""
    return {} if getattr(model.config, "use_cache", None) is None else {"use_cache": False}


def word_tokens(text: Text, shift: int) -> Iterator[np.ndarray]:
    """Yield the input positions of each word's tokens."""
    bounds = np.searchsorted(text.word, np.arange(text.words + 1))
    for first, last in pairwise(bounds):
        yield np.arange(first, last) + shift
