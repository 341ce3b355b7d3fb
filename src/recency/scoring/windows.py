"""Cut texts into sliding windows, and group windows into batches."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedModel

from recency.errors import InputError

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
