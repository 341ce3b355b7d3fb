"""Run a network over windows of text, in batches that fit in memory.

Cut texts into sliding windows, and group windows into batches.

Run a recurrent network over texts of any length in one pass, carrying its state along.

Windows with a limited number of context words before each word.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel

from readingtimes import parquet_bounds
from recency.errors import InputError
from recency.networks import footprint, products

#: The window size of recurrent networks, which read a text in one pass.
EVERYTHING = 2**62
#: In a batch of at least so many inputs, a window an eighth shorter than the longest starts a new
#: batch.
ENOUGH = 1024


def window_of(model: PreTrainedModel, window: int | None = None) -> int:
    """Return the model's window size, or `window` if it is smaller.

    For a recurrent network (`reads_on`) it is EVERYTHING.
    """
    config = model.config.get_text_config()
    names = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len")
    sizes = [getattr(config, name, None) or 0 for name in names]
    size = next((size for size in sizes if size > 0), None)  # XLNet's is -1
    if size is None and window is None and reads_on(model):
        return EVERYTHING
    if size is None and window is None:
        raise InputError(f"{type(model).__name__} has no longest input; set `window` (tokens)")
    for name, module in model.named_modules():  # RoBERTa counts positions from after its padding
        padding = getattr(module, "padding_idx", None)
        if size is not None and padding is not None and name.endswith("position_embeddings"):
            size -= padding + 1
    if size is not None:
        size -= getattr(model, "read_before", 0)  # of an encoder-decoder
    return min(size or window, window or size)


def reads_on(model: PreTrainedModel) -> bool:
    """Return whether a network is recurrent: it carries a state and needs no windows."""
    return hasattr(model.base_model, "start")


def sees_length(model: PreTrainedModel) -> bool:
    """Return whether a causal model's outputs depend on the input's length, padding included.

    True for some forms of bias, and for rotary positions of the type longrope.
    """
    if any(getattr(module, "uses_length", False) for module in model.modules()):
        return True
    return "longrope" in str(getattr(model.config.get_text_config(), "rope_parameters", None))


@dataclass
class Window:
    """A window of one text: its input ids, and the range of predictions that count."""

    text: int
    ids: list[int]
    start: int  # number in the text of the token predicted by the window's first position
    fresh: int  # first position whose prediction counts
    before: int = 0  # earlier tokens that a recurrent network has already read


def windows(ids: np.ndarray, text: int, size: int, stride: int, bos: int | None) -> list[Window]:
    """Cut a text into windows of at most `size` inputs that advance by `stride`.

    Position p of a window predicts the text's token `start + p`. All predictions of the first
    window count, and only new ones of later windows.
    """
    stream = ([] if bos is None else [bos]) + ids.tolist()
    shift = 0 if bos is not None else 1  # what position 0 predicts
    cut, done, begin = [], 0, 0
    while True:
        end = min(begin + size, len(stream))
        cut.append(Window(text, stream[begin:end], begin + shift, done - begin))
        done = end
        if end == len(stream):
            return cut
        begin = end + stride - size


def batches(cut: list[Window], tokens: int, padded: bool) -> Iterator[list[Window]]:
    """Group windows of similar length into batches of about `tokens` inputs."""
    batch: list[Window] = []
    for window in sorted(cut, key=lambda window: -len(window.ids)):
        longest = len(batch[0].ids) if batch else 0
        full = longest * (len(batch) + 1) > tokens
        short = longest * len(batch) >= ENOUGH and 8 * len(window.ids) < 7 * longest
        if batch and (full or short or (not padded and len(window.ids) != longest)):
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


#: Inputs run together on a CPU; more are no faster.
TOKENS_AT_ONCE = 2048
#: Most inputs run together on a GPU, which these saturate.
MOST_TOKENS_AT_ONCE = 16_384
#: Weights are laid out for at least so many inputs (the cost of a layout is regained after about
#: 1,000), in networks of at most so many bytes (268 million parameters), since a layout is a copy.
WORTH_A_LAYOUT, LARGEST_LAYOUT = 1024, 2**30
#: Feed-forward modules: the first linear layer, and the activation that can be fused with it.
FUSED = {"GPT2MLP": ("c_fc", "act"), "GPTNeoXMLP": ("dense_h_to_4h", "act")}
#: PyTorch's messages for exhausted CPU memory, a plain RuntimeError.
NO_MEMORY = ("can't allocate memory", "not enough memory")


def tokens_at_once(model: PreTrainedModel) -> int:
    """Return how many inputs to run together; on a GPU, a quarter of the free memory's worth."""
    if model.device.type != "cuda":
        return TOKENS_AT_ONCE
    free, _ = torch.cuda.mem_get_info(model.device)
    room = free // 4 // _estimate_bytes(model, 1, 1)
    return max(TOKENS_AT_ONCE, min(MOST_TOKENS_AT_ONCE, room))


def run(
    model: PreTrainedModel,
    batches: Iterable[list[Window]],
    bf16: bool = False,
    body: Callable | None = None,
    **settings: Any,
) -> Iterator[tuple[list[Window], Any]]:
    """Yield batches of windows with the outputs of the network's body (its base model).

    A batch's first window is its longest. Padding is at the end, after every scored position. The
    body gets `settings`, and the windows if it has `reads_windows`. With `bf16`, matrix products
    are in bfloat16. A batch that exceeds memory is halved. Raises InputError if a single window
    does not fit in memory.
    """
    lower = torch.autocast(model.device.type, torch.bfloat16, enabled=bf16)
    inputs = 0
    for batch in batches:
        inputs += len(batch) * len(batch[0].ids)
        todo = [batch]
        while todo:
            part = todo.pop()
            output = None
            if _fits(model, part):
                layout = nullcontext() if bf16 else use_layouts(model, inputs)
                with lower, layout:
                    output = _run_batch(model, body or model.base_model, part, settings)
            if output is not None:
                yield part, output
            elif len(part) == 1:
                raise InputError(_too_long(model, part[0]))
            else:
                half = len(part) // 2
                todo += [part[half:], part[:half]]


def _run_batch(model: PreTrainedModel, body: Callable, batch: list[Window], settings: dict) -> Any:
    """Run one batch; return None if it exceeds memory."""
    ids = torch.zeros(len(batch), len(batch[0].ids), dtype=torch.long)
    for row, window in enumerate(batch):
        ids[row, : len(window.ids)] = torch.tensor(window.ids)
    if getattr(body, "reads_windows", False):
        settings = settings | {"windows": batch}
    try:
        return body(input_ids=ids.to(model.device), use_cache=False, **settings)
    except torch.OutOfMemoryError:
        pass
    except RuntimeError as error:
        if not any(words in str(error) for words in NO_MEMORY):
            raise
    # Outside the except clauses, in which the error still references the batch's tensors.
    if model.device.type == "cuda":
        torch.cuda.empty_cache()
    return None


def _fits(model: PreTrainedModel, batch: list[Window]) -> bool:
    """Return whether a batch fits in a CPU's memory; a GPU raises an error that can be handled."""
    if model.device.type != "cpu":
        return True
    needed = _estimate_bytes(model, len(batch), len(batch[0].ids))
    return needed < footprint.SURE or needed < parquet_bounds.available()


def _estimate_bytes(model: PreTrainedModel, rows: int, length: int) -> int:
    """Return the approximate peak memory of one layer, in bytes."""
    scores = model.config._attn_implementation not in ("sdpa", "flash_attention_2")
    return footprint.activations(model.config, rows, length, scores)


def _too_long(model: PreTrainedModel, window: Window) -> str:
    inputs = len(window.ids)
    return (
        f"{type(model).__name__} does not fit the memory of the {model.device.type} with a window "
        f"of {inputs:,} tokens: set `window` to fewer"
    )


#: Linear layer → version of its weights, the weights (kept alive so that their address is not
#: reused), and their product.
_LAYOUTS: WeakKeyDictionary[nn.Module, tuple[list, list, Callable]] = WeakKeyDictionary()


@contextmanager
def use_layouts(model: PreTrainedModel, inputs: int) -> Iterator[None]:
    """Let the body's linear layers use a faster memory layout (recency.networks.products).

    Results differ only by the order of additions. Layouts live as long as their modules and are
    rebuilt after a weight changes. Does nothing for few `inputs`, with gradients, on a GPU, or for
    a network of more than LARGEST_LAYOUT bytes.
    """
    changed: list[nn.Module] = []
    body = model.base_model
    held = sum(parameter.numel() * parameter.element_size() for parameter in body.parameters())
    worth = inputs >= WORTH_A_LAYOUT and held <= LARGEST_LAYOUT
    if worth and model.device.type == "cpu" and not torch.is_grad_enabled():
        fused = dict(_find_fused(body))
        for module in body.modules():
            if not _is_linear(module):
                continue
            activation, gelu = fused.get(module, (None, None))
            module.forward = _build_layout(module, gelu)
            changed.append(module)
            if activation is not None:
                activation.forward = _unchanged
                changed.append(activation)
    try:
        yield
    finally:
        for module in changed:
            module.__dict__.pop("forward", None)


def _unchanged(inputs: torch.Tensor) -> torch.Tensor:
    return inputs


def _is_linear(module: nn.Module) -> bool:
    """Return whether a module is a plain linear layer that can be laid out."""
    plain = type(module) is nn.Linear or type(module).__name__ == "Conv1D"
    if not plain or "forward" in vars(module) or module.weight.is_inference():
        return False  # inference-mode tensors have no version counter to detect changes
    return products.can_lay_out(module.weight)


def _find_fused(body: nn.Module) -> Iterator[tuple[nn.Module, tuple[nn.Module, str]]]:
    """Yield each linear layer that a GELU follows, with the GELU and its approximation."""
    for module in body.modules():
        names = FUSED.get(type(module).__name__)
        if names is None:
            continue
        linear, activation = (getattr(module, name) for name in names)
        hooked = activation._forward_hooks or activation._forward_pre_hooks or linear._forward_hooks
        if hooked or not _is_linear(linear) or "forward" in vars(activation):
            continue
        if type(activation) is nn.GELU:
            yield linear, (activation, activation.approximate)
        elif type(activation).__name__ == "GELUActivation":
            yield linear, (activation, "none")


def _build_layout(module: nn.Module, gelu: str | None) -> Callable:
    """Return the laid-out product of a linear layer, rebuilt if its weights have changed."""
    held = [tensor.detach() for tensor in (module.weight, module.bias) if tensor is not None]
    state = [(tensor.data_ptr(), tensor._version) for tensor in held]
    state.append(gelu)
    stored = _LAYOUTS.get(module)
    if stored is None or stored[0] != state:
        # transformers' Conv1D holds its weight as (inputs, outputs).
        weight = held[0] if isinstance(module, nn.Linear) else held[0].T
        product = products.product(weight, held[1] if len(held) > 1 else None, gelu)
        _LAYOUTS[module] = stored = (state, held, product)
    return stored[-1]


#: Fewest inputs of a text per piece; shorter pieces are slower.
SHORTEST_PIECE = 64


def check_reads_on(model: PreTrainedModel, stride: int | None, window: int | None) -> None:
    """Refuse a stride or a window for a recurrent network."""
    for name, value in (("stride", stride), ("window", window)):
        if value is not None and reads_on(model):
            raise InputError(
                f"`{name}: {value}`: {type(model).__name__} is recurrent and reads a text of any length "
                f"in one pass, without windows; leave `{name}` out"
            )


def run_on(
    model: PreTrainedModel,
    texts: list[Window],
    at_once: int,
    bf16: bool = False,
    body: Callable | None = None,
) -> Iterator[tuple[list[Window], Any]]:
    """Yield batches of pieces with the outputs of the network's body, as `forward.run` does.

    `texts` are windows of whole texts. Texts of similar length run together, the longest first,
    with about `at_once` inputs at a time; each piece starts from the state after the previous one.
    """
    start, texts = model.base_model.start, sorted(texts, key=lambda text: -len(text.ids))
    rows = max(1, at_once // SHORTEST_PIECE)
    for first in range(0, len(texts), rows):
        group = texts[first : first + rows]
        piece, state = max(SHORTEST_PIECE, at_once // len(group)), start(len(group))
        for begin in range(0, len(group[0].ids), piece):
            here = [
                replace(
                    window,
                    ids=window.ids[begin : begin + piece],
                    start=window.start + begin,
                    before=begin,
                )
                for window in group
                if len(window.ids) > begin
            ]
            ids = torch.zeros(len(here), len(here[0].ids), dtype=torch.long)
            for row, window in enumerate(here):
                ids[row, : len(window.ids)] = torch.tensor(window.ids)
            state = tuple(tuple(tensor[: len(here)] for tensor in layer) for layer in state)
            settings = {"windows": here} if getattr(body, "reads_windows", False) else {}
            with torch.autocast(model.device.type, torch.bfloat16, enabled=bf16):
                output = (body or model.base_model)(
                    input_ids=ids.to(model.device), state=state, **settings
                )
            state = output.state
            yield here, output


def short_contexts(
    texts: Sequence[np.ndarray],
    words: Sequence[np.ndarray],
    lengths: Sequence[int],
    size: int,
    stride: int,
    bos: int | None,
) -> Iterator[list[Window]]:
    """Yield, for each of `lengths`, the windows of all words with so many context words.

    `texts` and `words` hold, for each text, token ids (tokens,) and the numbers of their words
    (tokens,), not decreasing. Windows number the texts again for each length: text + length's index
    · texts. The begin token precedes each window. Only the word's own tokens are scored; a token
    without context is left out. Windows longer than the model's input are cut like long texts.
    """
    for layer, length in enumerate(lengths, 1):
        yield [
            replace(window, text=number + layer * len(texts))
            for number, (ids, word) in enumerate(zip(texts, words, strict=True))
            for window in _text_windows(ids, word, length, size, stride, bos)
        ]


def _text_windows(ids, word, length, size, stride, bos) -> Iterator[Window]:
    """Yield the windows of one text, numbered 0."""
    firsts = np.flatnonzero(np.append(True, word[1:] != word[:-1])) if len(word) else []
    lasts = np.append(firsts[1:], len(word)) if len(word) else []
    for number, (first, last) in enumerate(zip(firsts, lasts)):
        begin = int(firsts[max(0, number - length)])
        if bos is None and last - begin < 2:
            continue  # the only token has no context
        for window in windows(ids[begin : last - 1], 0, size, stride, bos):
            fresh = max(window.fresh, int(first) - begin - window.start)
            if fresh < len(window.ids):
                yield replace(window, start=window.start + begin, fresh=fresh)
