"""Entropies and ranks of next-token distributions, from blocks of logits.

Statistics are named as in `MeasureRequest.statistics`: "entropy" (Shannon's), "renyi_<alpha>" and
"rank"; measures' modules compute others from whole distributions (`exact_statistics`). With logits
l, Z = Σ exp l and p = exp(l) / Z, in nats:

    H   = log Z - Σ l exp(l) / Z
    H_α = (log Σ exp(αl) - α log Z) / (1 - α);  H_0 = log of the vocabulary;  H_∞ = log Z - max l
"""

import math
import re
from collections.abc import Callable, Sequence

import torch

from recency.scoring.word_measures import exact_statistic

#: Rows and columns of the observed tokens in a block of logits.
Targets = tuple[torch.Tensor, torch.Tensor]
#: Relative tolerance of ties: float32 logits that differ only by rounding are equal.
TIE = 2e-6
#: exp(x) = 2^(x log₂ e), which PyTorch computes up to three times as fast.
LOG2_E = 1 / math.log(2)
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
