"""Surprisal of every token of a text, and the mass of word-initial tokens, in sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.scoring.output_layer import OutputLayer
from recency.scoring.windows import batches, sees_length, window_of, windows

#: Positions whose logits are held at once.
POSITIONS_AT_ONCE = 1024


@dataclass
class Scores:
    """Per token of a text; nats; NaN where nothing comes before the token."""

    log_probability: np.ndarray  # log p(t_k | context)
    log_space: np.ndarray  # mass of tokens that begin with a space; one more entry for the end
    log_end: np.ndarray  # mass of tokens that end a text, likewise
    context: np.ndarray  # tokens that the model saw before t_k


@torch.inference_mode()
def score(
    model: PreTrainedModel,
    texts: list[np.ndarray],
    kind: np.ndarray,
    bos: int | None,
    stride: int | None = None,
    tokens_at_once: int = 2048,
    report: Callable[[int, int], None] = lambda done, total: None,
    window: int | None = None,
    precision: str = "fp32",
    output_layer: OutputLayer | None = None,
) -> list[Scores]:
    """Score texts (arrays of token ids), each by itself; return one `Scores` per text.

    `kind` says of each entry of the vocabulary whether it begins with a space (SPACE), ends a text
    (END) or neither; `bos` is a token put before each text, or None; `stride` the number of tokens
    that each further window adds (half a window by default), `window` its size (the model's own by
    default). Memory is bounded: no more than `tokens_at_once` inputs are run together (a window at
    least), and no more than a block of logits is held, whatever the texts' lengths. `report` gets
    the number of windows done and of all. With `precision` bf16 matrix products are in bfloat16. An
    `output_layer` made before, with this `kind` and `precision`, saves making it.
    """
    if precision not in ("fp32", "bf16"):
        raise InputError(f"precision {precision!r} is neither fp32 nor bf16")
    size = window_of(model, window)
    stride = size // 2 if stride is None else stride
    if not 1 <= stride <= size:
        raise InputError(f"a stride of {stride} tokens is not within the window of {size}")
    cut = [w for number, ids in enumerate(texts) for w in windows(ids, number, size, stride, bos)]
    # All texts lie behind one another, each with one entry more, for its end.
    begin = np.cumsum([0, *(len(ids) + 1 for ids in texts)])
    targets = np.concatenate([np.append(ids, 0) for ids in texts]) if texts else np.zeros(0, int)
    filled = np.full((3, len(targets)), np.nan)
    context = np.zeros(len(targets), np.int32)
    padded = not sees_length(model)
    output_layer = output_layer or OutputLayer(model, kind, precision == "bf16")
    lower = torch.autocast(model.device.type, torch.bfloat16, enabled=precision == "bf16")
    done = 0
    for batch in batches(cut, tokens_at_once, padded):
        ids = torch.zeros(len(batch), len(batch[0].ids), dtype=torch.long)
        rows, columns, places = [], [], []
        for row, each in enumerate(batch):
            ids[row, : len(each.ids)] = torch.tensor(each.ids)
            counted = np.arange(each.fresh, len(each.ids))
            rows.append(np.full(len(counted), row))
            columns.append(counted)
            places.append(begin[each.text] + each.start + counted)
            context[places[-1]] = counted + 1
        # Padding stands at the end, where a causal model never looks from a counted position.
        with lower:
            hidden = output_layer.body(input_ids=ids.to(model.device), use_cache=False)[0]
        rows, columns = np.concatenate(rows), np.concatenate(columns)
        places = np.concatenate(places)
        for start in range(0, len(places), POSITIONS_AT_ONCE):
            part = slice(start, start + POSITIONS_AT_ONCE)
            chosen = torch.from_numpy(targets[places[part]]).to(hidden.device)
            found = output_layer.score(hidden[rows[part], columns[part]], chosen)
            filled[:, places[part]] = torch.stack(found).cpu().numpy()
        done += len(batch)
        report(done, len(cut))
    return [
        Scores(filled[0, a : b - 1], filled[1, a:b], filled[2, a:b], context[a : b - 1])
        for a, b in pairwise(begin)
    ]
