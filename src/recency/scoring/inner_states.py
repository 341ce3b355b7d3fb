"""Attention weights and hidden states of a network, by word, for evaluations of what a layer holds.

Attention weights after softmax, layer by layer, so that memory holds one layer at a time.

Hidden states of words: the mean over each word's tokens.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.attention.biased import NAME, WITH_WEIGHTS, attach, attention_modules
from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import forward, masked
from recency.scoring.alignment import Text
from recency.scoring.forward import Window, batches, sees_length, window_of, windows
from recency.scoring.masked import Frame, cut_pieces, tokens_per_input


@dataclass
class Span:
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
) -> list[Span]:
    """Cut a text into the windows that surprisal uses, each adding `stride` tokens.

    With the frame `around` of a masked LM, cut it into consecutive pieces instead.
    """
    if around is not None:
        size, before = masked.tokens_per_input(model, around), len(around.before)
        return [
            Span(
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
        Span(window.ids, window.start - shift, window.fresh)
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


def count_layers(model: PreTrainedModel) -> int:
    """Return the number of layers; there is one more hidden state, the embeddings."""
    return model.config.num_hidden_layers


def lacks_token(text: Text) -> np.ndarray:
    """Return whether each word of a text has no token."""
    bare = np.ones(text.words, bool)
    for word, last in zip(text.word, text.last):
        bare[word : last + 1] = False
    return bare


@torch.inference_mode()
def word_states(
    model: PreTrainedModel,
    texts: list[Text],
    layers: list[int],
    bos: int | None,
    stride: int | None = None,
    tokens_at_once: int | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
    around: Frame | None = None,
) -> np.ndarray:
    """Return the hidden states of all texts' words, float32 (layers, words, width).

    Layers are numbered as in transformers' `hidden_states`: 0 is the input of the first layer, l
    the output of layer l, and the last follows the final norm. A token counts for every word that
    it has a character of. Each text is read separately after the token `bos` (or None), in the
    windows that surprisal uses; with the frame `around` of a masked LM, in consecutive pieces.
    """
    if around is None:
        size = window_of(model)
        stride = size // 2 if stride is None else stride
        if not 1 <= stride <= size:
            raise InputError(f"a stride of {stride} tokens is not within the window of {size}")
        cut = [
            w for number, t in enumerate(texts) for w in windows(t.ids, number, size, stride, bos)
        ]
    else:
        cut = [
            w
            for number, text in enumerate(texts)
            for w in _framed_windows(model, text, number, around)
        ]
    after = len(around.after) if around else 0  # inputs after the text
    words = np.cumsum([0, *(text.words for text in texts)])
    tokens = np.cumsum([0, *(len(text.ids) for text in texts)])
    first = np.concatenate([text.word + at for text, at in zip(texts, words)])
    reach = np.concatenate([text.last - text.word + 1 for text in texts])
    total = torch.zeros(len(layers), words[-1], model.config.hidden_size)
    count = np.zeros(words[-1], np.int64)
    padded = around is None and not sees_length(model)
    at_once = tokens_at_once or forward.tokens_at_once(model)
    done, cut_up = 0, batches(cut, at_once, padded)
    for batch, output in forward.run(model, cut_up, output_hidden_states=True):
        rows, columns, places = [], [], []
        for row, window in enumerate(batch):
            token = window.start + np.arange(len(window.ids)) - 1  # number in the text
            position = np.arange(len(token))
            new = (position >= window.fresh) & (token >= 0) & (position < len(token) - after)
            new = np.flatnonzero(new)
            rows.append(np.full(len(new), row))
            columns.append(new)
            places.append(tokens[window.text] + token[new])
        places = np.concatenate(places)
        # A token that spans several words counts for each.
        times = reach[places]
        within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        word = np.repeat(first[places], times) + within
        rows, columns = (np.repeat(np.concatenate(part), times) for part in (rows, columns))
        count += np.bincount(word, minlength=len(count))
        for number, layer in enumerate(layers):
            states = output.hidden_states[layer][rows, columns].float().cpu()
            if states.shape[1] != total.shape[2]:
                raise InputError(
                    f"{type(model).__name__}: the states of layer {layer} are {states.shape[1]} wide, "
                    f"others {total.shape[2]}; only states of equal width can be compared"
                )
            total[number].index_add_(0, torch.from_numpy(word), states)
        done += len(batch)
        report(done, len(cut))
    total /= torch.from_numpy(count)[:, None]
    return total.numpy()


def _framed_windows(
    model: PreTrainedModel, text: Text, number: int, around: Frame
) -> Iterator[Window]:
    """Yield a text's pieces, each with the frame of a masked LM."""
    size, before = tokens_per_input(model, around), len(around.before)
    for begin, new in cut_pieces(len(text.ids), size):
        ids = [*around.before, *text.ids[begin : begin + size].tolist(), *around.after]
        yield Window(number, ids, begin - before + 1, before + new - begin)


def untrained(
    model: PreTrainedModel, architecture: dict | None, bias: dict | None, seed: int
) -> PreTrainedModel:
    """Return an untrained network of the same shape, on the same device.

    With `architecture`, an entry of the config, the weights are the initial weights of this
    project's training; otherwise those of the model's class. `bias` is applied at inference.
    """
    if architecture is not None:
        trained_bias = getattr(model.config, "bias", None) or {"form": "none"}
        fresh = architectures.new(architecture, trained_bias, model.config.vocab_size, seed)
    else:
        torch.manual_seed(seed)
        fresh = type(model)(model.config)
    if bias is not None and bias["form"] != "none":
        attach(fresh, bias)
    return fresh.to(model.device).eval()
