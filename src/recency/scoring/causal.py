"""Surprisal of every token of a text, and the mass of word-initial tokens, in sliding windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.scoring.alignment import END, REST, SPACE

#: Positions whose logits are held at once, and rows of the output layer, on a CPU: 8 MB of logits.
POSITIONS_AT_ONCE = 1024
CPU_BLOCK = 2048
#: Where a batch is as large as this, a window an eighth shorter than its longest begins a new one.
ENOUGH = 1024


@dataclass
class Scores:
    """Per token of a text; nats; NaN where nothing comes before the token."""

    log_probability: np.ndarray  # log p(t_k | context)
    log_space: np.ndarray  # mass of tokens that begin with a space; one more entry for the end
    log_end: np.ndarray  # mass of tokens that end a text, likewise
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

    Position p of a window predicts the text's token `start + p`; all of the first window counts.
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
    """Group windows of like length so that a batch holds about `tokens` inputs, little padding."""
    batch: list[_Window] = []
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


class OutputLayer:
    """The output layer with the rows of word-initial tokens first, so that their mass is a slice.

    `bf16` holds the logits in bfloat16; the logit of the token itself is computed apart, exactly,
    and the noise of the others all but cancels in their sum.
    """

    @torch.inference_mode()
    def __init__(self, model: PreTrainedModel, kind: np.ndarray, bf16: bool = False):
        """Sort the rows by `kind` (SPACE, END, REST); rows past its end are padding."""
        linear, config = model.get_output_embeddings(), model.config
        weight = linear.weight.detach()
        kind = np.append(kind, np.zeros(max(0, len(weight) - len(kind)), np.int8))[: len(weight)]
        rows = [np.flatnonzero(kind == each) for each in (SPACE, END, REST)]
        order = torch.from_numpy(np.concatenate(rows)).to(weight.device)
        self.row = torch.empty_like(order)  # token id → row
        self.row[order] = torch.arange(len(order), device=order.device)
        self.cuts = np.cumsum([0, *map(len, rows)]).tolist()
        self.exact = weight[order].float()
        bias = getattr(linear, "bias", None)
        self.bias = None if bias is None else bias.detach()[order].float()
        self.weight = self.exact.bfloat16() if bf16 else self.exact
        self.cap = getattr(config, "final_logit_softcapping", None)
        self.scale = 1.0
        for name, power in (("logit_scale", 1), ("logits_scaling", -1)):
            if isinstance(factor := getattr(config, name, None), int | float):
                self.scale *= factor**power
        self.buffer = weight.new_empty(0, dtype=torch.float32)
        self._compare(model)

    def _compare(self, model: PreTrainedModel) -> None:
        """Refuse a network that looks ahead, or whose logits are more than its output layer."""
        ids = torch.arange(min(8, window_of(model, 8)), device=self.row.device)[None]
        ids %= len(self.row)
        states = model.base_model(input_ids=ids, use_cache=False)[0][0]
        later = ids.clone()
        later[0, -1] = (later[0, -1] + 1) % len(self.row)
        other = model.base_model(input_ids=later, use_cache=False)[0][0]
        moved = (states - other)[:-1].float().abs()
        if len(moved) and moved.max() > 1e-4 * states.float().abs().max():
            raise InputError(
                f"{type(model).__name__} is not causal: a later token changes what it makes of the "
                "earlier ones; open a masked LM with recency.load(…, masked=True)"
            )
        expected = model(input_ids=ids, use_cache=False).logits[0].float()
        logits = self.finish(states.float() @ self.exact.T)[:, self.row]
        allowed = 1e-3 if states.dtype == torch.float32 else 3e-2
        if not (logits - expected).abs().max() < allowed * expected.abs().max().clamp(min=1):
            raise InputError(
                f"{type(model).__name__} changes its logits after its output layer in a way that "
                "is not known here; recency.scoring.causal.OutputLayer would have to learn it"
            )

    def finish(self, logits: torch.Tensor, rows: torch.Tensor | slice = slice(None)):
        """Do in place what comes behind the matrix product, for all rows or some: bias, scale, cap."""
        if self.bias is not None:
            logits += self.bias[rows]
        if self.scale != 1.0:
            logits *= self.scale
        if self.cap:
            logits.div_(self.cap).tanh_().mul_(self.cap)
        return logits

    def score(self, states: torch.Tensor, targets: torch.Tensor) -> list[torch.Tensor]:
        """Return log p of `targets` and log masses of SPACE and END, float64, after `states`."""
        rows, states = self.row[targets], states.float()
        chosen = (states.double() * self.exact[rows].double()).sum(-1)
        chosen = self.finish(chosen, rows)
        # Without a maximum to subtract there is one pass less; extremes are done again, with it.
        mass = self.masses(states, lambda logits: logits.exp_().sum(-1).double(), torch.add).log()
        full = torch.tensor(np.diff(self.cuts) > 0, device=mass.device)
        if not (torch.isfinite(mass[full]).all() and mass[full].min() > -69):
            mass = self.masses(states, lambda each: each.double().logsumexp(-1), torch.logaddexp)
            mass[~full] = -torch.inf
        total = mass.logsumexp(0)
        return [chosen - total, mass[0] - total, mass[1] - total]

    def masses(self, states: torch.Tensor, reduce: Callable, add: Callable) -> torch.Tensor:
        """Reduce the logits of SPACE, END and REST to (3, positions), a block of rows at a time.

        A block's logits stay in the processor's cache between the product and the sum; no more of
        them are ever held.
        """
        block = CPU_BLOCK if states.device.type == "cpu" else len(self.exact)
        if self.buffer.numel() < len(states) * block:
            self.buffer = self.exact.new_empty(len(states) * block)
        lower = states.to(self.weight.dtype)
        found = torch.zeros(3, len(states), dtype=torch.float64, device=states.device)
        for kind, (first, last) in enumerate(pairwise(self.cuts)):
            for start in range(first, last, block):
                rows = slice(start, min(start + block, last))
                weight = self.weight[rows]
                logits = self.buffer[: len(states) * len(weight)].view(len(states), -1)
                if weight.dtype == logits.dtype:
                    torch.mm(lower, weight.T, out=logits)
                else:
                    logits.copy_(lower @ weight.T)
                value = reduce(self.finish(logits, rows))
                found[kind] = value if start == first else add(found[kind], value)
        return found


def window_of(model: PreTrainedModel, window: int | None = None) -> int:
    """Return how many inputs the model takes, or `window` if that is given (and less)."""
    config = model.config
    names = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len")
    size = next((getattr(config, name) for name in names if getattr(config, name, None)), None)
    if size is None and window is None:
        raise InputError(f"{type(model).__name__} has no longest input; set `window` (tokens)")
    return min(size or window, window or size)


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
    padded = not any(getattr(module, "uses_length", False) for module in model.modules())
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
            hidden = model.base_model(input_ids=ids.to(model.device), use_cache=False)[0]
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
