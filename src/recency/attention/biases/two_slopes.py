"""Linear bias in both directions with slopes of their own, for masked LMs.

a = 1, b = -m_h (i - j) for what was read before, -n_h (j - i) for what comes after. Where they are
`learned`, what is trained is a slope's logarithm, in each layer, as in `learned_linear`.
"""

import math

import torch
from torch import nn

from recency.attention.biases import Affine, Bias
from recency.attention.biases.linear import by_head, slopes_of

PARAMETERS = {
    "back": {
        "description": "m_h, as `slopes` of `linear`: of what was read before",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    },
    "ahead": {
        "description": "n_h, as `back`: of what comes after",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    },
    "learned": {
        "description": "whether training changes the slopes from where they begin",
        "type": "boolean",
        "default": False,
    },
}


class Form(Bias):
    """Scores fall by one slope for every token back, and by another for every token ahead."""

    both_directions = True

    def __init__(
        self,
        heads: int,
        back: str | float | list[float] = "mix",
        ahead: str | float | list[float] = "mix",
        learned: bool = False,
    ):
        super().__init__(heads)
        # Numbers, not buffers: from_pretrained builds a model without memory and would lose them.
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
