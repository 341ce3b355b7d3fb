"""Surprisal of every token of a text, and the mass of word-initial tokens, in sliding windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedModel

#: Positions whose logits are held at once.
POSITIONS_AT_ONCE = 1024


@dataclass
class Scores:
    """Per token of a text; nats; NaN where nothing comes before the token."""

    log_probability: np.ndarray  # log p(t_k | context)
    log_initial: np.ndarray  # log P_B(context before t_k); one more entry for the text's end
    context: np.ndarray  # tokens that the model saw before t_k


@dataclass
class _Window:
    """A stretch of one text: its input ids, and which of its predictions count."""

    text: int
    ids: list[int]
    start: int  # place in the text of the token predicted by the window's first position
    fresh: int  # the window's first position whose prediction counts


def windows(ids: np.ndarray, text: int, size: int, stride: int, bos: int | None) -> list[_Window]:
    """Cut a text into windows of at most `size` inputs, each counting the last `stride` anew.

    Position p of a window predicts the text's token `start + p`; the first window counts whole.
    """
    stream = ([] if bos is None else [bos]) + ids.tolist()
    shift = 0 if bos is not None else 1  # what position 0 predicts
    cut, done, begin = [], 0, 0
    while True:
        end = min(begin + size, len(stream))
        cut.append(_Window(text, stream[begin:end], begin + shift, done - begin))
        done = end
        if end == len(stream):
            return cut
        begin = end + stride - size


def batches(cut: list[_Window], tokens: int, padded: bool) -> Iterator[list[_Window]]:
    """Group windows of like length so that a batch holds about `tokens` inputs."""
    batch: list[_Window] = []
    for window in sorted(cut, key=lambda each: -len(each.ids)):
        longest = len(batch[0].ids) if batch else 0
        full = longest * (len(batch) + 1) > tokens
        if batch and (full or (not padded and len(window.ids) != longest)):
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


@torch.inference_mode()
def score(
    model: PreTrainedModel,
    texts: list[np.ndarray],
    initial: np.ndarray,
    bos: int | None,
    stride: int | None = None,
    tokens_at_once: int = 8192,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[Scores]:
    """Score texts (arrays of token ids), each by itself; return one `Scores` per text.

    `initial` is the mask of word-initial tokens; `bos` a token put before each text, or None;
    `stride` the number of tokens that each further window adds (half a window by default). No
    more than `tokens_at_once` inputs are run together, whatever the texts' lengths; `report` is
    told the windows done and to do.
    """
    size = model.config.max_position_embeddings
    stride = size // 2 if stride is None else stride
    cut = [w for number, ids in enumerate(texts) for w in windows(ids, number, size, stride, bos)]
    results = [
        Scores(np.full(len(t), np.nan), np.full(len(t) + 1, np.nan), np.zeros(len(t), np.int32))
        for t in texts
    ]
    padded = not any(getattr(module, "uses_length", False) for module in model.modules())
    head = model.get_output_embeddings()
    begins = torch.from_numpy(np.flatnonzero(initial)).to(model.device)
    done = 0
    for batch in batches(cut, tokens_at_once, padded):
        ids = torch.zeros(len(batch), len(batch[0].ids), dtype=torch.long)
        for row, window in enumerate(batch):
            ids[row, : len(window.ids)] = torch.tensor(window.ids)
        # Padding stands at the end, where a causal model never looks from a counted position.
        hidden = model.base_model(input_ids=ids.to(model.device), use_cache=False)[0]
        for row, window in enumerate(batch):
            states = hidden[row, window.fresh : len(window.ids)]
            places = window.start + np.arange(window.fresh, len(window.ids))
            _fill(results[window.text], texts[window.text], places, states, head, begins)
            places = places[places < len(texts[window.text])]
            results[window.text].context[places] = places - window.start + 1
        done += len(batch)
        report(done, len(cut))
    return results


def _fill(
    result: Scores,
    ids: np.ndarray,
    places: np.ndarray,
    states: torch.Tensor,
    head: torch.nn.Module,
    begins: torch.Tensor,
) -> None:
    """Write the scores of the tokens at `places`, predicted from `states` (places, width)."""
    for start in range(0, len(places), POSITIONS_AT_ONCE):
        part = places[start : start + POSITIONS_AT_ONCE]
        logits = head(states[start : start + POSITIONS_AT_ONCE]).float()
        total = torch.logsumexp(logits, -1)
        mass = torch.logsumexp(logits[:, begins], -1) - total
        result.log_initial[part] = mass.double().cpu().numpy()
        part = part[part < len(ids)]  # the position after the last token predicts the end
        targets = torch.from_numpy(ids[part]).to(logits.device)
        chosen = logits[torch.arange(len(part), device=logits.device), targets]
        result.log_probability[part] = (chosen - total[: len(part)]).double().cpu().numpy()
