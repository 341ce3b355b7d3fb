"""Linear recency bias with learned slopes: a = 1, b = e^(μ_h) (j - i), with a trained μ_h per head.

The logarithm of each slope is trained, so that slopes stay positive and a step changes each by the
same proportion. Every layer has its own slopes; training starts at `slopes`.
"""

import math

import torch
from torch import nn

from recency.attention.biases import Affine, Bias
from recency.attention.biases.linear import slopes_of

PARAMETERS = {
    "slopes": {
        "description": "at the start: `mix` for 2^(-8h/H); a number for all heads; or one a head",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    }
}


class Form(Bias):
    """Linear bias with trained slopes."""

    def __init__(self, heads: int, slopes: str | float | list[float] = "mix"):
        super().__init__(heads)
        start = [math.log(slope) for slope in slopes_of(slopes, heads)]
        self.log_slopes = nn.Parameter(torch.tensor(start))

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = e^(μ_h) (j - i)."""
        return 1.0, self.log_slopes.exp()[head] * (key - query)
