"""Score tokens with a network's output layer, without a full matrix of logits.

Entropies and ranks of next-token distributions, from blocks of logits.

Statistics are named as in `MeasureRequest.statistics`: "entropy" (Shannon's), "renyi_<alpha>" and
"rank"; measures' modules compute others from whole distributions (`exact_statistics`). With logits
l, Z = Σ exp l and p = exp(l) / Z, in nats:

    H   = log Z - Σ l exp(l) / Z
    H_α = (log Σ exp(αl) - α log Z) / (1 - α);  H_0 = log of the vocabulary;  H_∞ = log Z - max l
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.attention.logit_lens import logit_cap, logit_scale
from recency.errors import InputError
from recency.networks import products
from recency.networks.encoder_decoders import read_output_inputs
from recency.scoring.alignment import END, REST, SPACE
from recency.scoring.forward import window_of
from recency.scoring.word_measures import exact_statistic

#: Rows and columns of the observed tokens in a block of logits.
Targets = tuple[torch.Tensor, torch.Tensor]
#: Relative tolerance of ties: float32 logits that differ only by rounding are equal.
TIE = 2e-6
#: exp(x) = 2^(x log₂ e), which PyTorch computes up to three times as fast.
#: Statistics that are sums over blocks of the vocabulary.
_SUMS = re.compile(r"entropy|rank|renyi_(?:inf|[\d.e+-]+)")
#: Log-probabilities in memory at once where a statistic needs whole distributions (64 MB).
EXACT_AT_ONCE = 2**23
#: Below this logarithm, float32 sums of exponentials are recomputed in float64.
SMALLEST = -69.0


def renyi_order(name: str) -> float:
    """Return α of "renyi_<alpha>"."""
    return float(name.removeprefix("renyi_"))


def needs_float64(wanted: Sequence[str]) -> bool:
    """Return whether float32 is too coarse: near α = 1, a small difference is divided by 1 - α."""
    return any(n.startswith("renyi_") and 0 < abs(renyi_order(n) - 1) < 0.05 for n in wanted)


def select_sums(wanted: Sequence[str]) -> list[str]:
    """Return the statistics that are sums over the vocabulary, which `Statistics` computes."""
    return [name for name in wanted if _SUMS.fullmatch(name)]


def exact_statistics(
    wanted: Sequence[str],
    targets: torch.Tensor,
    vocabulary: int,
    log_probabilities: Callable[[slice], torch.Tensor],
) -> dict[str, torch.Tensor]:
    """Return the statistics that need whole distributions, each of shape (positions,).

    `log_probabilities` returns the log-probabilities (positions, vocabulary) of a slice of
    positions, float64, nats.
    """
    names = [name for name in wanted if not _SUMS.fullmatch(name)]
    values: dict[str, list[torch.Tensor]] = {name: [] for name in names}
    step = max(1, EXACT_AT_ONCE // vocabulary)
    for start in range(0, len(targets), step) if names else ():
        part = slice(start, start + step)
        logs = log_probabilities(part)
        for name in names:
            values[name].append(exact_statistic(name, logs, targets[part]))
    return {name: torch.cat(parts) for name, parts in values.items()}


class Statistics:
    """Accumulate the `wanted` statistics over blocks of logits (positions, tokens).

    `chosen` (positions,) holds the logits of the observed tokens, float64; a token counts as more
    probable if its logit exceeds them by more than `ties`.
    """

    def __init__(self, wanted: Sequence[str], chosen: torch.Tensor, ties: torch.Tensor):
        """Start with empty sums."""
        self.wanted, self.tokens = wanted, 0
        self.sums = {name: torch.zeros_like(chosen) for name in wanted}
        self.above = (chosen + ties)[:, None]

    def _count_more_probable(self, logits: torch.Tensor, targets: Targets) -> None:
        """Count the tokens that are more probable than the observed ones, `targets`."""
        more = logits > self.above.to(logits.dtype)
        more[targets] = False
        self.sums["rank"] += more.sum(-1)

    def add(self, logits: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Add a float32 block of logits, which is overwritten; return its Σ exp l, float64."""
        self.tokens += logits.shape[1]
        powers = [name for name in self.wanted if name.startswith("renyi_")]
        alphas = {name: renyi_order(name) for name in powers}
        if "rank" in self.wanted:
            self._count_more_probable(logits, targets)
        for name, alpha in alphas.items():
            if alpha == torch.inf:
                largest = logits.amax(-1).double()
                first = self.tokens == logits.shape[1]
                self.sums[name] = largest if first else self.sums[name].maximum(largest)
            elif alpha not in (0.0, 0.5, 2.0):
                self.sums[name] += (logits * (alpha * LOG2_E)).exp2_().sum(-1).double()
        exps = (logits * LOG2_E).exp2_()
        mass = exps.sum(-1).double()
        if "entropy" in self.wanted:
            self.sums["entropy"] += logits.mul_(exps).sum(-1).double()
        if "renyi_2" in self.wanted:
            self.sums["renyi_2"] += torch.mul(exps, exps, out=logits).sum(-1).double()
        if "renyi_0.5" in self.wanted:
            self.sums["renyi_0.5"] += exps.sqrt_().sum(-1).double()
        return mass

    def finish(self, total: torch.Tensor) -> list[torch.Tensor] | None:
        """Return the statistics in the order of `wanted`, given log Z; None after underflow."""
        values = []
        for name in self.wanted:
            sums = self.sums[name]
            if name == "rank":
                values.append(sums + 1)
            elif name == "entropy":
                values.append(total - sums * torch.exp(-total))
            elif (alpha := renyi_order(name)) == 0:
                values.append(torch.full_like(total, self.tokens).log())
            elif alpha == torch.inf:
                values.append(total - sums)
            else:
                if not sums.log().min() > SMALLEST:
                    return None
                values.append((sums.log() - alpha * total) / (1 - alpha))
        if not all(torch.isfinite(value).all() for value in values):
            return None
        return [value.clamp(min=0) for value in values]


class ExactStatistics(Statistics):
    """Accumulate the statistics over blocks of float64 log-probabilities (up to rounding)."""

    def add(self, logits: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Add a block of log-probabilities; return its probability mass."""
        self.tokens += logits.shape[1]
        first = self.tokens == logits.shape[1]
        for name in self.wanted:
            sums = self.sums[name]
            if name == "rank":
                self._count_more_probable(logits, targets)
            elif name == "entropy":  # 0 log 0 = 0
                sums += torch.special.entr(logits.exp()).sum(-1)
            elif (alpha := renyi_order(name)) == torch.inf:
                largest = logits.amax(-1)
                self.sums[name] = largest if first else sums.maximum(largest)
            elif alpha:
                power = torch.logsumexp(logits * alpha, -1)
                self.sums[name] = power if first else torch.logaddexp(sums, power)
        return logits.exp().sum(-1)

    def finish(self, total: torch.Tensor) -> list[torch.Tensor]:
        """Return the statistics in the order of `wanted`; `total` is the log of the added mass."""
        values = []
        for name in self.wanted:
            sums = self.sums[name]
            if name == "rank":
                values.append(sums + 1)
            elif name == "entropy":
                values.append(sums * torch.exp(-total) + total)
            elif (alpha := renyi_order(name)) == 0:
                values.append(torch.full_like(sums, self.tokens).log())
            elif alpha == torch.inf:
                values.append(total - sums)
            else:
                values.append((sums - alpha * total) / (1 - alpha))
        return [value.clamp(min=0) for value in values]


def score_logits(
    logits: torch.Tensor, targets: torch.Tensor, wanted: Sequence[str]
) -> list[torch.Tensor]:
    """Return log p of `targets` and the `wanted` statistics from logits (positions, tokens)."""
    logs = logits.double().log_softmax(-1)
    chosen = logs.gather(1, targets[:, None])[:, 0]
    summed = select_sums(wanted)
    sums = ExactStatistics(summed, chosen, torch.zeros_like(chosen))
    mass = sums.add(logs, (torch.arange(len(logs), device=logs.device), targets))
    values = dict(zip(summed, sums.finish(mass.log()), strict=True))
    values |= exact_statistics(wanted, targets, logs.shape[1], logs.__getitem__)
    return [chosen, *(values[name] for name in wanted)]


#: Rows of the output layer per block on a CPU: 4 MB of logits for 1,024 positions.
CPU_BLOCK = 1024
#: Fewest positions, and most bytes of an output layer, for a processor-specific weight layout.
WORTH_A_LAYOUT, LARGEST_LAYOUT = 512, 2**30
#: exp(x) = 2^(x log₂ e), which PyTorch computes three times as fast where MKL's exp is slow.
LOG2_E = float(np.log2(np.e))
#: If log Σ exp of the logits is farther from 0 than this (GPT-2: -100), their exponentials do not
#: fit float32, and the observed token's logit is subtracted first.
FAR = 40.0


class OutputLayer:
    """The output layer with its rows sorted by kind, so that word-initial tokens are a slice.

    With `bf16`, logits are in bfloat16 and their rounding errors nearly cancel in sums; the
    observed token's logit is computed exactly.
    """

    @torch.inference_mode()
    def __init__(self, model: PreTrainedModel, kind: np.ndarray, bf16: bool = False):
        """Sort the rows by `kind` (SPACE, END, REST); further rows are padding."""
        linear, config = model.get_output_embeddings(), model.config.get_text_config()
        weight = _weight_of(linear)
        kind = np.append(kind, np.zeros(max(0, len(weight) - len(kind)), np.int8))[: len(weight)]
        rows = [np.flatnonzero(kind == group) for group in (SPACE, END, REST)]
        order = torch.from_numpy(np.concatenate(rows)).to(weight.device)
        self.row = torch.empty_like(order)  # token id → row
        self.row[order] = torch.arange(len(order), device=order.device)
        self.cuts = np.cumsum([0, *map(len, rows)]).tolist()
        exact = torch.promote_types(weight.dtype, torch.float32)  # keeps float64
        self.exact = weight[order].to(exact)
        bias = getattr(linear, "bias", None)
        self.bias = None if bias is None else bias.detach()[order].to(exact)
        self.weight = self.exact.bfloat16() if bf16 else self.exact
        self.cap, self.scale = logit_cap(config), logit_scale(config)
        self.buffer = weight.new_empty(0, dtype=torch.float32)
        self.own, self.products = weight, {}
        #: The part of the network before the output layer; it takes the network's arguments.
        self.body: Callable = model.base_model
        self._compare(model)
        self.far = _has_far_logits(model)

    def _compare(self, model: PreTrainedModel) -> None:
        """Refuse a network whose logits are transformed after its output layer."""
        ids = torch.arange(min(8, window_of(model, 8)), device=self.row.device)[None]
        ids = (ids + len(self.row) // 2) % len(self.row)  # avoids XLM's padding id, 2
        half = model.dtype in (torch.float16, torch.bfloat16)
        expected = model(input_ids=ids, use_cache=False).logits[0].float()
        size = expected.abs().max()
        for self.body in (model.base_model, partial(read_output_inputs, model)):
            states = self.body(input_ids=ids, use_cache=False)[0][0]
            if states.shape[-1] != self.exact.shape[-1]:
                continue
            logits = self.finish(states.to(self.exact.dtype) @ self.exact.T)[:, self.row]
            if (logits - expected).abs().max() <= (3e-2 if half else 1e-4) * size:
                return
        raise InputError(
            f"{type(model).__name__} changes its logits after its output layer in a way that "
            "is not supported; extend recency.scoring.output_layer.OutputLayer"
        )

    def finish(self, logits: torch.Tensor, rows: torch.Tensor | slice = slice(None)):
        """Apply bias, scale and cap to logits in place, for all rows or some."""
        if self.bias is not None:
            logits += self.bias[rows]
        if self.scale != 1.0:
            logits *= self.scale
        if self.cap:
            logits.div_(self.cap).tanh_().mul_(self.cap)
        return logits

    def score(
        self, states: torch.Tensor, targets: torch.Tensor, wanted: Sequence[str] = ()
    ) -> list[torch.Tensor]:
        """Return log p of `targets` and the log masses of SPACE and END after `states`, float64.

        The `wanted` statistics follow.
        """
        asked, wanted = wanted, select_sums(wanted)
        rows, states = self.row[targets], states.to(self.exact.dtype)
        chosen = self.logits_of(states, targets)
        ties = TIE * (1 + chosen.abs())
        shift = chosen.to(states.dtype)[:, None] if self.far else None
        if shift is not None:
            chosen = chosen - shift[:, 0].double()
        # Skipping the maximum saves a pass; extreme sums are recomputed with logsumexp.
        sums = Statistics(wanted, chosen, ties)
        add = sums.add if wanted else lambda logits, _: exponential_sum(logits)
        mass = self.masses(states, add, torch.add, shift, rows if wanted else None).log()
        full = torch.tensor(np.diff(self.cuts) > 0, device=mass.device)
        enough = bool(torch.isfinite(mass[full]).all() and mass[full].min() > SMALLEST)
        if not enough:
            mass = self.masses(
                states, lambda logits, _: logits.double().logsumexp(-1), torch.logaddexp, shift
            )
            mass[~full] = -torch.inf
        total = mass.logsumexp(0)
        finished = sums.finish(total) if enough and not needs_float64(wanted) else None
        if wanted and finished is None:
            exact = ExactStatistics(wanted, chosen - total, ties)
            mass_of_all = self.masses(
                states,
                lambda logits, targets: exact.add(logits.double() - total[:, None], targets),
                torch.add,
                shift,
                rows,
            )
            finished = exact.finish(mass_of_all.sum(0).log())
        values = dict(zip(wanted, finished or [], strict=True))
        if len(asked) > len(wanted):
            values |= exact_statistics(
                asked, targets, len(self.row), lambda part: self.log_probabilities(states[part])
            )
        return [chosen - total, mass[0] - total, mass[1] - total, *(values[n] for n in asked)]

    def logits_of(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the logits of `targets` (positions,) after `states` (positions, width), float64."""
        products = states.double() * self.own[targets].double()
        return self.finish(products.sum(-1), self.row[targets])

    def log_probabilities(self, states: torch.Tensor) -> torch.Tensor:
        """Return log-probabilities (positions, vocabulary) in the order of token ids, float64."""
        blocks: list[torch.Tensor] = []

        def keep(logits: torch.Tensor, _: object) -> torch.Tensor:
            blocks.append(logits.to(torch.float64, copy=True))  # the buffer is reused
            return logits.new_zeros(len(logits))

        self.masses(states, keep, torch.add)
        return torch.cat(blocks, 1).log_softmax(-1)[:, self.row]

    def masses(
        self,
        states: torch.Tensor,
        reduce: Callable,
        add: Callable,
        shift: torch.Tensor | None = None,
        chosen: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Reduce the logits of SPACE, END and REST to (3, positions), block by block.

        A block's logits stay in the processor's cache between the product and the sum. `shift`
        (positions, 1) is subtracted from the logits. `reduce` gets a block, and the rows and
        columns of the `chosen` (positions,) output rows in it; `add` combines the blocks of a kind.
        """
        block = CPU_BLOCK if states.device.type == "cpu" else len(self.row)
        if len(states) >= WORTH_A_LAYOUT:
            self._lay_out()
        if not self.products and self.buffer.numel() < len(states) * block:
            self.buffer = self.exact.new_empty(len(states) * block)
        lower = states.to(self.weight.dtype)
        sums = torch.zeros(3, len(states), dtype=torch.float64, device=states.device)
        for kind, (first, last) in enumerate(pairwise(self.cuts)):
            for start in range(first, last, block):
                rows = slice(start, min(start + block, last))
                logits = self.finish(self._product(lower, rows), rows)
                if shift is not None:
                    logits.sub_(shift)
                value = reduce(logits, _rows_within(chosen, rows))
                sums[kind] = value if start == first else add(sums[kind], value)
        return sums

    def _product(self, states: torch.Tensor, rows: slice) -> torch.Tensor:
        """Return the product of states and some rows, float32; callers may overwrite it."""
        if self.products:
            return self.products[rows.start](states)
        weight = self.weight[rows]
        logits = self.buffer[: len(states) * len(weight)].view(len(states), -1)
        if weight.dtype == logits.dtype:
            torch.mm(states, weight.T, out=logits)
        else:
            logits.copy_(states @ weight.T)
        return logits

    def _lay_out(self) -> None:
        """Replace the sorted rows by a processor-specific layout, where supported."""
        size = self.weight.numel() * self.weight.element_size()
        if self.products or size > LARGEST_LAYOUT or not products.can_lay_out(self.weight):
            return
        self.products = {
            start: products.product(self.weight[start : min(start + CPU_BLOCK, last)])
            for first, last in pairwise(self.cuts)
            for start in range(first, last, CPU_BLOCK)
        }
        self.exact = self.weight = self.weight.new_empty(0, self.weight.shape[1])
        self.buffer = self.buffer[:0].clone()


def _weight_of(linear: torch.nn.Module) -> torch.Tensor:
    """Return a layer's weight, also if accelerate has offloaded it."""
    if linear.weight.device.type != "meta":
        return linear.weight.detach()
    from accelerate.utils import align_module_device

    with align_module_device(linear):
        return linear.weight.detach()


def exponential_sum(logits: torch.Tensor) -> torch.Tensor:
    """Return Σ exp of each row, float64; overwrites the logits."""
    return logits.mul_(LOG2_E).exp2_().sum(-1).double()


def _has_far_logits(model: PreTrainedModel) -> bool:
    """Return whether a network's logits are far from 0."""
    ids = torch.arange(min(8, window_of(model, 8)), device=model.device)[None]
    logits = model(
        input_ids=ids % len(model.get_input_embeddings().weight), use_cache=False
    ).logits[0]
    return float(logits.float().logsumexp(-1).abs().max()) > FAR


def _rows_within(
    chosen: torch.Tensor | None, rows: slice
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return the indices of the `chosen` rows in a block, and their rows within it."""
    if chosen is None:
        return None
    inside = torch.nonzero((chosen >= rows.start) & (chosen < rows.stop))[:, 0]
    return inside, chosen[inside] - rows.start
