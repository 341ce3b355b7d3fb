"""Base-level decay of ACT-R: a = 1, b = -d log(i - j + 1).

The activation of an item that was presented once falls with the logarithm of its age (Anderson &
Schooler 1991; Lewis & Vasishth 2005, Equation 1): `power_law` without a buffer.
"""

import torch

from recency.attention.biases import Affine, Bias

PARAMETERS = {
    "decay": {
        "description": "d, the rate of decay; 0.5 is ACT-R's",
        "type": "number",
        "minimum": 0,
        "default": 0.5,
    },
}


class Form(Bias):
    """Scores fall with the logarithm of a token's age."""

    def __init__(self, heads: int, decay: float = 0.5):
        super().__init__(heads)
        self.decay = decay

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = -d log(i - j + 1)."""
        age = (query - key + 1).clamp(min=1)  # later keys are masked
        return 1.0, -self.decay * torch.log(age)
