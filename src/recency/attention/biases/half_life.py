"""A hard window at a linear bias's half-life: a control for its effective context.

A slope m halves a key's weight every ln 2 / m tokens. The window has, for each head, the keys that
keep at least half of their weight, W = 1 + floor(ln 2 / m) with the token itself, all with full
weight: b = 0 for i - j < W_h and -inf before. If a network does as well with the window as with the
bias, the bias helps by limiting context, not by its slope. A rate of decay λ counts as a slope.
"""

import math

import torch

from recency.attention.biases import Affine, Bias
from recency.attention.biases.linear import slopes_of

PARAMETERS = {
    "slopes": {
        "description": "m_h of the linear bias that it is a control for, in the same notation",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    }
}


def width(slope: float) -> int:
    """Return W in tokens, the token itself included, for a slope m > 0."""
    return 1 + math.floor(math.log(2) / slope)


class Form(Bias):
    """A window that ends at each head's half-life."""

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
