"""Run a recurrent network over texts of any length, once: its state goes on from piece to piece."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.scoring.windows import Window, reads_on

#: Inputs of a text to a piece at least: shorter pieces gain nothing.
SHORTEST_PIECE = 64


def check(model: PreTrainedModel, stride: int | None, window: int | None) -> None:
    """Raise InputError where a recurrent network is asked to read in windows."""
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
    """Yield pieces of texts and what the network's body makes of them, as `forward.run` does.

    `texts` are windows of whole texts. Those of like length go side by side, the longest first, and
    no more than about `at_once` inputs at a time; each piece begins with the state that the piece
    before it left.
    """
    start, texts = model.base_model.start, sorted(texts, key=lambda each: -len(each.ids))
    rows = max(1, at_once // SHORTEST_PIECE)
    for first in range(0, len(texts), rows):
        group = texts[first : first + rows]
        piece, state = max(SHORTEST_PIECE, at_once // len(group)), start(len(group))
        for begin in range(0, len(group[0].ids), piece):
            here = [
                replace(
                    each,
                    ids=each.ids[begin : begin + piece],
                    start=each.start + begin,
                    before=begin,
                )
                for each in group
                if len(each.ids) > begin
            ]
            ids = torch.zeros(len(here), len(here[0].ids), dtype=torch.long)
            for row, each in enumerate(here):
                ids[row, : len(each.ids)] = torch.tensor(each.ids)
            state = tuple(tuple(each[: len(here)] for each in layer) for layer in state)
            settings = {"windows": here} if getattr(body, "reads_windows", False) else {}
            with torch.autocast(model.device.type, torch.bfloat16, enabled=bf16):
                output = (body or model.base_model)(
                    input_ids=ids.to(model.device), state=state, **settings
                )
            state = output.state
            yield here, output
