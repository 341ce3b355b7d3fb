"""Run a recurrent network over texts of any length in one pass, carrying its state along."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.scoring.windows import Window, reads_on

#: Fewest inputs of a text per piece; shorter pieces are slower.
SHORTEST_PIECE = 64


def check(model: PreTrainedModel, stride: int | None, window: int | None) -> None:
    """Refuse a stride or a window for a recurrent network."""
    for name, value in (("stride", stride), ("window", window)):
        if value is not None and reads_on(model):
            raise InputError(
                f"`{name}: {value}`: {type(model).__name__} is recurrent and reads a text of any length "
                f"in one pass, without windows; leave `{name}` out"
            )


def run(
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
