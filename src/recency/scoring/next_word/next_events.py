"""Distributions over the events after a prefix of a word: its end, or a token that continues it.

Tokens are of three kinds: those that begin a word (SPACE), those that end a text (END), and the
others (REST). After a prefix, the word ends with probability s = Σ_SPACE p + Σ_END p, or continues
with a REST token. The entropy of this event is

    h = −s log s − Σ_REST p log p.

The entropy of a word's first token, of kind F with P = Σ_F p, is log P − (Σ_F p log p) / P.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch

from recency.scoring.alignment import END, REST, SPACE
from recency.scoring.output_layer import LOG2_E, OutputLayer

#: The order of the kinds in the rows of an output layer.
ORDER = (SPACE, END, REST)
#: Most logits in memory at once for a group of prefixes (128 MB).
KEPT = 2**25
#: Number of tokens that are probed for a large logit to subtract where logits are far from 0.
PROBES = 64


@dataclass
class Events:
    """Distributions after n prefixes, float64, nats.

    Attributes
    ----------
    mass : dict of int to Tensor (n,)
        Kind → the probability of its tokens.
    information : dict of int to Tensor (n,)
        Kind → Σ p log p of its tokens.
    total : Tensor (n,)
        log Σ exp of all logits, less the shift of `logits`.
    logits : Tensor (n, tokens of the stored kind)
        Shifted logits: log p = logits − total.
    """

    mass: dict[int, torch.Tensor]
    information: dict[int, torch.Tensor]
    total: torch.Tensor
    logits: torch.Tensor

    @property
    def stop(self) -> torch.Tensor:
        """The probability that the word ends (n,)."""
        return self.mass[SPACE] + self.mass[END]

    def entropy_of_next(self) -> torch.Tensor:
        """Return the entropy of the next event: the word's end, or a token that continues it."""
        return (torch.special.entr(self.stop) - self.information[REST]).clamp(min=0)

    def first_mass(self, kind: int, with_end: bool) -> torch.Tensor:
        """Return the probability of a kind of first token, `with_end` plus the text's end."""
        return self.mass[kind] + self.mass[END] if with_end else self.mass[kind]

    def entropy_of_first(self, kind: int, with_end: bool) -> torch.Tensor:
        """Return the entropy of a word's first token among those of a kind."""
        mass = self.first_mass(kind, with_end)
        information = self.information[kind]
        if with_end:
            information = information - torch.special.entr(self.mass[END])
        return (mass.log() - information / mass).clamp(min=0)

    def probabilities(self, rows: torch.Tensor | slice) -> torch.Tensor:
        """Return p of the tokens of the stored kind, (rows, tokens), float64."""
        return (self.logits[rows].double() - self.total[rows, None]).exp_()


class NextEvents:
    """Compute the distributions after prefixes with a network's output layer."""

    def __init__(self, layer: OutputLayer):
        self.layer = layer
        self.order = order = torch.argsort(layer.row)  # row → token id
        self.bounds = dict(zip(ORDER, pairwise(layer.cuts), strict=True))
        self.tokens = {kind: order[slice(*bounds)] for kind, bounds in self.bounds.items()}
        #: Token id → its number among the tokens of its kind.
        self.number = torch.empty_like(layer.row)
        for tokens in self.tokens.values():
            self.number[tokens] = torch.arange(len(tokens), device=tokens.device)

    def size(self, kind: int) -> int:
        """Return how many tokens of a kind the vocabulary has."""
        return len(self.tokens[kind])

    def parts(self, states: torch.Tensor, kind: int) -> Iterator[tuple[slice, Events]]:
        """Yield slices of the states and the events after them, small enough for float64."""
        step = max(1, KEPT // 4 // max(1, self.size(kind)))
        for start in range(0, len(states), step):
            part = slice(start, min(start + step, len(states)))
            yield part, self.after(states[part], kind)

    def after(self, states: torch.Tensor, kept: int) -> Events:
        """Return the events after states (n, width), with the logits of the kind `kept`."""
        states = states.to(self.layer.exact.dtype)
        first, last = self.bounds[kept]
        logits = states.new_empty(len(states), last - first)
        products = torch.zeros(3, len(states), dtype=torch.float64, device=states.device)
        done = 0

        def add(block: torch.Tensor, _: object) -> torch.Tensor:
            nonlocal done
            begin, done = done, done + block.shape[1]
            kind = next(n for n, name in enumerate(ORDER) if begin < self.bounds[name][1])
            if ORDER[kind] == kept:
                logits[:, begin - first : done - first] = block
            exps = (block * LOG2_E).exp2_()
            mass = exps.sum(-1).double()
            products[kind] += block.mul_(exps).sum(-1).double()
            return mass

        masses = self.layer.masses(states, add, torch.add, self._shift(states))
        sums = masses.sum(0)
        # float32 sums that under- or overflow are recomputed in float64.
        if not bool(torch.isfinite(sums).all() and (sums > 1e-25).all()) or not bool(
            torch.isfinite(products).all()
        ):
            return self._exactly(states, kept)
        total = sums.log()
        information = (products - total * masses) / sums
        return Events(
            {kind: masses[n] / sums for n, kind in enumerate(ORDER)},
            {kind: information[n] for n, kind in enumerate(ORDER)},
            total,
            logits,
        )

    def _exactly(self, states: torch.Tensor, kept: int) -> Events:
        """Compute the result of `after` in float64, from whole distributions."""
        logs = torch.cat([self.layer._logs(part) for part in states.split(64)])
        mass, information = {}, {}
        for kind, tokens in self.tokens.items():
            chosen = logs[:, tokens]
            mass[kind] = chosen.exp().sum(-1)
            information[kind] = -torch.special.entr(chosen.exp()).sum(-1)
        return Events(mass, information, logs.new_zeros(len(logs)), logs[:, self.tokens[kept]])

    def _shift(self, states: torch.Tensor) -> torch.Tensor | None:
        """Return a shift (n, 1) to subtract from logits that are far from 0."""
        if not self.layer.far:
            return None
        rows = torch.linspace(0, len(self.layer.row) - 1, PROBES, device=states.device).long()
        weight = self.layer.own[self.order[rows]].to(states.dtype)
        return self.layer.finish(states @ weight.T, rows).amax(-1, keepdim=True)
