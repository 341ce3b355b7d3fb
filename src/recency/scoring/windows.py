"""Cut texts into sliding windows that a network can take, and the windows into batches."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedModel

from recency.errors import InputError

#: The window of a network that reads a text of any length in one pass.
EVERYTHING = 2**62
#: Where a batch is as large as this, a window an eighth shorter than its longest begins a new one.
ENOUGH = 1024


def window_of(model: PreTrainedModel, window: int | None = None) -> int:
    """Return how many inputs the model takes, or `window` if that is given (and less).

    Of a network that reads on (`reads_on`) that is EVERYTHING.
    """
    config = model.config.get_text_config()
    names = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len")
    sizes = [getattr(config, name, None) or 0 for name in names]
    size = next((size for size in sizes if size > 0), None)  # XLNet's is -1
    if size is None and window is None and reads_on(model):
        return EVERYTHING
    if size is None and window is None:
        raise InputError(f"{type(model).__name__} has no longest input; set `window` (tokens)")
    for name, module in model.named_modules():  # RoBERTa counts positions from behind its padding
        padding = getattr(module, "padding_idx", None)
        if size is not None and padding is not None and name.endswith("position_embeddings"):
            size -= padding + 1
    return min(size or window, window or size)


def reads_on(model: PreTrainedModel) -> bool:
    """Say whether a network is recurrent: it carries a state, and needs no windows."""
    return hasattr(model.base_model, "start")


def sees_length(model: PreTrainedModel) -> bool:
    """Say whether a causal model computes otherwise in a longer input, were it longer by padding.

    Some forms of bias do; so do rotary positions of the type longrope, with factors for long inputs.
    """
    if any(getattr(module, "uses_length", False) for module in model.modules()):
        return True
    return "longrope" in str(getattr(model.config.get_text_config(), "rope_parameters", None))


@dataclass
class Window:
    """A stretch of one text: its input ids, and which of its predictions count."""

    text: int
    ids: list[int]
    start: int  # place in the text of the token predicted by the window's first position
    fresh: int  # the window's first position whose prediction counts
    before: int = 0  # tokens that the network had read already, of which it carries a state


def windows(ids: np.ndarray, text: int, size: int, stride: int, bos: int | None) -> list[Window]:
    """Cut a text into windows of at most `size` inputs, each counting the last `stride` anew.

    Position p of a window predicts the text's token `start + p`; all of the first window counts.
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
    """Group windows of like length so that a batch holds about `tokens` inputs, little padding."""
    batch: list[Window] = []
    for window in sorted(cut, key=lambda each: -len(each.ids)):
        longest = len(batch[0].ids) if batch else 0
        full = longest * (len(batch) + 1) > tokens
        short = longest * len(batch) >= ENOUGH and 8 * len(window.ids) < 7 * longest
        if batch and (full or short or (not padded and len(window.ids) != longest)):
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch
