"""Logistic decay: a = 1 / (1 + e^(k(d - m))) with d = max(1, i - j + 1); b = 0.

The logistic form of the working-memory study, which multiplies the score.
"""

import torch

from recency.attention.biases import Affine, Bias

PARAMETERS = {
    "steepness": {"description": "k, per token", "type": "number", "default": 0.4},
    "midpoint": {"description": "m, tokens", "type": "number", "default": 12},
}


class Form(Bias):
    """Scores fade to 0 around `midpoint` tokens back."""

    def __init__(self, heads: int, steepness: float = 0.4, midpoint: float = 12):
        super().__init__(heads)
        self.steepness, self.midpoint = steepness, midpoint

    def forward(self, head, query, key, length) -> Affine:
        """Return a = σ(-k(d - m)), b = 0."""
        distance = (query - key + 1).clamp(min=1)
        return torch.sigmoid(-self.steepness * (distance - self.midpoint)), 0.0
