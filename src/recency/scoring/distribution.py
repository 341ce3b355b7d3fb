"""Entropies of distributions over a vocabulary, and ranks in them, from logits a block at a time.

Names as `measures.Asked.statistics` has them: "entropy" (Shannon's), "renyi_<alpha>" and "rank";
others are of measures whose modules compute them from whole distributions (`exact_statistics`).
With the logits l, Z = Σ exp l and p = exp(l) / Z, nats:

    H   = log Z - Σ l exp(l) / Z
    H_α = (log Σ exp(αl) - α log Z) / (1 - α);  H_0 = log of the vocabulary;  H_∞ = log Z - max l
"""

import math
import re
from collections.abc import Callable, Sequence

import torch

from recency.scoring.word_measures import exact_statistic

#: Where the tokens that came stand in a block: their rows and columns.
Own = tuple[torch.Tensor, torch.Tensor]
#: A token is more probable than another if its logit exceeds the other's by more than this share:
#: logits of float32 that are equal but for their rounding are ties.
TIE = 2e-6
#: exp(x) = 2^(x log₂ e), which PyTorch computes up to three times as fast.
LOG2_E = 1 / math.log(2)
#: Statistics that are sums over blocks of the vocabulary.
_SUMS = re.compile(r"entropy|rank|renyi_(?:inf|[\d.e+-]+)")
#: Log-probabilities that are held at once where a statistic needs whole distributions (64 MB).
EXACT_AT_ONCE = 2**23
#: Sums of exponentials in float32 below this are done again in float64.
SMALLEST = -69.0


def order(name: str) -> float:
    """Return α of "renyi_<alpha>"."""
    return float(name.removeprefix("renyi_"))


def delicate(wanted: Sequence[str]) -> bool:
    """Say whether float32 is too coarse: near α = 1 the difference of two sums is divided by 1 - α."""
    return any(n.startswith("renyi_") and 0 < abs(order(n) - 1) < 0.05 for n in wanted)


def in_sums(wanted: Sequence[str]) -> list[str]:
    """Return the statistics that `Statistics` computes; the others need whole distributions."""
    return [name for name in wanted if _SUMS.fullmatch(name)]


def exact_statistics(
    wanted: Sequence[str],
    targets: torch.Tensor,
    vocabulary: int,
    log_probabilities: Callable[[slice], torch.Tensor],
) -> dict[str, torch.Tensor]:
    """Return the statistics (positions,) that need whole distributions, some positions at a time.

    `log_probabilities` returns those of some positions, (positions, vocabulary), float64, nats.
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
    """Sums over the vocabulary for `wanted`, of blocks of logits (positions, tokens) added one by one.

    `chosen` are the logits of the tokens that came (positions,), float64, and `ties` by how much
    another's must exceed it to count as more probable.
    """

    def __init__(self, wanted: Sequence[str], chosen: torch.Tensor, ties: torch.Tensor):
        """Begin with nothing added."""
        self.wanted, self.tokens = wanted, 0
        self.sums = {name: torch.zeros_like(chosen) for name in wanted}
        self.above = (chosen + ties)[:, None]

    def _count(self, logits: torch.Tensor, own: Own) -> None:
        """Count the tokens that are more probable; `own` are those that came, as (row, column)."""
        more = logits > self.above.to(logits.dtype)
        more[own] = False
        self.sums["rank"] += more.sum(-1)

    def add(self, logits: torch.Tensor, own: Own) -> torch.Tensor:
        """Add a block in float32, which is overwritten; return its Σ exp l, float64."""
        self.tokens += logits.shape[1]
        powers = [name for name in self.wanted if name.startswith("renyi_")]
        alphas = {name: order(name) for name in powers}
        if "rank" in self.wanted:
            self._count(logits, own)
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
        """Return what is wanted in its order, given log Z; None where float32 was too small for it."""
        found = []
        for name in self.wanted:
            sums = self.sums[name]
            if name == "rank":
                found.append(sums + 1)
            elif name == "entropy":
                found.append(total - sums * torch.exp(-total))
            elif (alpha := order(name)) == 0:
                found.append(torch.full_like(total, self.tokens).log())
            elif alpha == torch.inf:
                found.append(total - sums)
            else:
                if not sums.log().min() > SMALLEST:
                    return None
                found.append((sums.log() - alpha * total) / (1 - alpha))
        if not all(torch.isfinite(each).all() for each in found):
            return None
        return [each.clamp(min=0) for each in found]


class ExactStatistics(Statistics):
    """The same of log-probabilities in float64: log Z, or nearly, is taken off `chosen` and the blocks."""

    def add(self, logits: torch.Tensor, own: Own) -> torch.Tensor:
        """Add a block; return its mass of probability."""
        self.tokens += logits.shape[1]
        first = self.tokens == logits.shape[1]
        for name in self.wanted:
            sums = self.sums[name]
            if name == "rank":
                self._count(logits, own)
            elif name == "entropy":  # 0 log 0 = 0
                sums += torch.special.entr(logits.exp()).sum(-1)
            elif (alpha := order(name)) == torch.inf:
                largest = logits.amax(-1)
                self.sums[name] = largest if first else sums.maximum(largest)
            elif alpha:
                power = torch.logsumexp(logits * alpha, -1)
                self.sums[name] = power if first else torch.logaddexp(sums, power)
        return logits.exp().sum(-1)

    def finish(self, total: torch.Tensor) -> list[torch.Tensor]:
        """Return what is wanted, in its order; `total` is the log of all mass that was added, near 0."""
        found = []
        for name in self.wanted:
            sums = self.sums[name]
            if name == "rank":
                found.append(sums + 1)
            elif name == "entropy":
                found.append(sums * torch.exp(-total) + total)
            elif (alpha := order(name)) == 0:
                found.append(torch.full_like(sums, self.tokens).log())
            elif alpha == torch.inf:
                found.append(total - sums)
            else:
                found.append((sums - alpha * total) / (1 - alpha))
        return [each.clamp(min=0) for each in found]


def of_logits(
    logits: torch.Tensor, targets: torch.Tensor, wanted: Sequence[str]
) -> list[torch.Tensor]:
    """Return log p of `targets` and what is `wanted`, float64, of whole logits (positions, tokens)."""
    logs = logits.double().log_softmax(-1)
    chosen = logs.gather(1, targets[:, None])[:, 0]
    summed = in_sums(wanted)
    sums = ExactStatistics(summed, chosen, torch.zeros_like(chosen))
    mass = sums.add(logs, (torch.arange(len(logs), device=logs.device), targets))
    values = dict(zip(summed, sums.finish(mass.log()), strict=True))
    values |= exact_statistics(wanted, targets, logs.shape[1], logs.__getitem__)
    return [chosen, *(values[name] for name in wanted)]
