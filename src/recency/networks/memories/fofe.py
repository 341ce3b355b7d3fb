"""Decay independent of content, FOFE: P_t = u_t + α P_{t-1}; α = 0 is a feed-forward LM.

Zhang et al. (2015); Oualil et al. (2016a). α is ALiBi's e^(-m): the half-life is ln 2 / -ln α
words.
"""

import math

import torch
from torch import nn

from recency.errors import InputError
from recency.networks.memories import Fading
from recency.networks.recurrences import scan

PARAMETERS = {
    "decay": {
        "description": "α, for all units",
        "type": ["number", "null"],
        "minimum": 0,
        "exclusiveMaximum": 1,
        "default": None,
    },
    "half_lives": {
        "description": "instead of `decay`: first and last unit's, in words, log-spaced between",
        "anyOf": [
            {
                "type": "array",
                "items": {"type": "number", "exclusiveMinimum": 0},
                "minItems": 2,
                "maxItems": 2,
            },
            {"type": "null"},
        ],
        "default": None,
    },
    "learned": {"description": "whether α is learned", "type": "boolean", "default": False},
    "normalised": {
        "description": "whether u is multiplied by 1 - α, so that a state is a mean of words",
        "type": "boolean",
        "default": False,
    },
    "window": {
        "description": "n - 1: states that are read",
        "type": "integer",
        "minimum": 1,
        "default": 1,
    },
}
RULES = {
    "allOf": [
        {
            "if": {"required": ["decay"], "properties": {"decay": {"type": "number"}}},
            "then": {"properties": {"half_lives": {"type": "null"}}},
            "else": {"required": ["half_lives"], "properties": {"half_lives": {"type": "array"}}},
            "x-message": "give exactly one of `decay` and `half_lives`",
        },
        {
            "not": {
                "required": ["decay", "learned"],
                "properties": {"decay": {"const": 0}, "learned": {"const": True}},
            },
            "x-at": "learned",
            "x-message": "a `decay` of 0 cannot be learned from; begin above 0",
        },
    ]
}


class Form(Fading):
    """Every unit decays at a constant rate, whatever the word."""

    def __init__(
        self,
        inputs: int,
        width: int,
        vocabulary: int,
        decay: float | None = None,
        half_lives: list[float] | None = None,
        learned: bool = False,
        normalised: bool = False,
        window: int = 1,
    ):
        super().__init__(inputs, width, vocabulary, window)
        if (decay is None) == (half_lives is None):
            raise InputError("fofe: give exactly one of `decay` and `half_lives`")
        if decay == 0 and learned:
            raise InputError(
                "fofe: a `decay` of 0 cannot be learned from; begin above 0, or learn none"
            )
        self.first = [decay] if half_lives is None else space_alphas(*half_lives, inputs)
        self.normalised = normalised
        # The logit is learned, which keeps α between 0 and 1.
        self.logit = nn.Parameter(torch.empty(len(self.first))) if learned else None

    def decay(self) -> torch.Tensor:
        """Return α: one for all units, or one per unit."""
        if self.logit is not None:
            return self.logit.sigmoid()
        return self.read.weight.new_tensor(self.first)

    def states(self, inputs, before, words):
        """Return P_t = u_t + α P_{t-1}."""
        decay = self.decay()
        inputs = inputs * (1 - decay) if self.normalised else inputs
        return scan(decay[None, None], inputs, before)

    @torch.no_grad()
    def draw(self, generator):
        """Draw V; α starts at the config's value."""
        super().draw(generator)
        if self.logit is not None:
            self.logit.copy_(torch.tensor(self.first, dtype=torch.float64).logit())

    def half_lives(self):
        """Return ln 2 / -ln α."""
        return math.log(2) / -self.decay().detach().log()


def space_alphas(shortest: float, longest: float, units: int) -> list[float]:
    """Return the α of units whose half-lives, in words, are log-spaced."""
    steps = [unit / max(1, units - 1) for unit in range(units)]  # not a tensor, which may be meta
    return [0.5 ** (1 / (shortest * (longest / shortest) ** step)) for step in steps]
