"""Linear bias for masked LMs with separate slopes for the two directions.

a = 1, b = -m_h (i - j) for preceding and -n_h (j - i) for following tokens. With `learned`, the
logarithms of the slopes are trained in each layer, as in `learned_linear`.
"""

import math

import torch
from torch import nn

from recency.attention.biases import Affine, Bias
from recency.attention.biases.linear import by_head, slopes_of

PARAMETERS = {
    "back": {
        "description": "m_h for preceding tokens, as `slopes` of `linear`",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    },
    "ahead": {
        "description": "n_h for following tokens, as `back`",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    },
    "learned": {
        "description": "whether the slopes are trained, starting from these values",
        "type": "boolean",
        "default": False,
    },
}


class Form(Bias):
    """Scores decrease by one slope per token back, and by another per token ahead."""

    both_directions = True

    def __init__(
        self,
        heads: int,
        back: str | float | list[float] = "mix",
        ahead: str | float | list[float] = "mix",
        learned: bool = False,
    ):
        super().__init__(heads)
        # Not buffers: from_pretrained builds models on the meta device, which would lose them.
        self.back, self.ahead = slopes_of(back, heads), slopes_of(ahead, heads)
        if learned:
            for name, slopes in (("log_back", self.back), ("log_ahead", self.ahead)):
                logs = torch.tensor([math.log(slope) for slope in slopes])
                self.register_parameter(name, nn.Parameter(logs))

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = -m_h (i - j) or -n_h (j - i)."""
        distance = query - key
        if self.learned:
            back, ahead = self.log_back.exp()[head], self.log_ahead.exp()[head]
        else:
            back, ahead = (by_head(slopes, head) for slopes in (self.back, self.ahead))
        return 1.0, -torch.where(distance >= 0, back * distance, -ahead * distance)
