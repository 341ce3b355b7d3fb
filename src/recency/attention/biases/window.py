"""Fixed window: b = 0 for the last W tokens, including the token itself, and -inf before them.

The working-memory study's fixed window, W = 4, 5, 7, 9.
"""

import torch

from recency.attention.biases import Affine, Bias

PARAMETERS = {
    "width": {
        "description": "W, tokens, including the token itself",
        "type": "integer",
        "minimum": 1,
    }
}


class Form(Bias):
    """A window of the last W tokens."""

    def __init__(self, heads: int, width: int):
        super().__init__(heads)
        self.width = self.reach = width

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = 0 within [i - W + 1, i] and -inf before."""
        return 1.0, torch.where(query - key < self.width, 0.0, -torch.inf)
