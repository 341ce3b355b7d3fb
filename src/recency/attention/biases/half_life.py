"""A hard window of a linear bias's half-life: the control of how much context the bias leaves.

A slope m halves a key's weight every ln 2 / m tokens. The window has the keys that keep at least half
of theirs, W = 1 + floor(ln 2 / m) with the token itself, head by head, at full weight, and no other:
b = 0 for i - j < W_h and -inf before. A network that does as well with it as with the bias had the
advantage of the bias's effective context, not of its slope. A rate of decay λ counts as a slope.
"""

import math

import torch

from recency.attention.biases import Affine, Bias
from recency.attention.biases.linear import slopes_of

PARAMETERS = {
    "slopes": {
        "description": "m_h of the linear bias that it controls for, as that has them",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    }
}


def width(slope: float) -> int:
    """Return W, tokens, the token itself counted, for a slope m > 0."""
    return 1 + math.floor(math.log(2) / slope)


class Form(Bias):
    """Nothing beyond a head's half-life is seen."""

    def __init__(self, heads: int, slopes: str | float | list[float] = "mix"):
        super().__init__(heads)
        self.widths = [width(slope) for slope in slopes_of(slopes, heads)]
        self.reach = max(self.widths)

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = 0 within [i - W_h + 1, i] and -inf before."""
        widest = torch.full_like(head, self.widths[0])
        for number, other in enumerate(self.widths[1:], 1):
            widest = torch.where(head == number, other, widest)
        return 1.0, torch.where(query - key < widest, 0.0, -torch.inf)
