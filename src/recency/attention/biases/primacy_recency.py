"""Primacy and recency: b = w_p p_j + w_r r_j, with learned weights.

p_j ∝ e^(-j/L) and r_j ∝ e^(-(L - 1 - j)/L), both normalised over the L positions of the sequence.
From the working-memory study; its ablations have only one of the two.
"""

import math

import torch
from torch import nn

from recency.attention.biases import Affine, Bias

PARAMETERS = {
    "parts": {
        "description": "the terms to include",
        "enum": ["both", "primacy", "recency"],
        "default": "both",
    },
    "weight": {"description": "w_p and w_r at the start", "type": "number", "default": 0.5},
}


class Form(Bias):
    """Raises the scores of a sequence's first and last positions."""

    uses_length = True

    def __init__(self, heads: int, parts: str = "both", weight: float = 0.5):
        super().__init__(heads)
        self.primacy = nn.Parameter(torch.tensor(weight)) if parts != "recency" else None
        self.recency = nn.Parameter(torch.tensor(weight)) if parts != "primacy" else None

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = w_p p_j + w_r r_j."""
        # Σ e^(-k/L) over k = 0 … L - 1, the same for both curves, which mirror each other.
        total = math.expm1(-1) / math.expm1(-1 / length)
        return 1.0, self.curves(key, length - 1 - key, length, total)

    def curves(self, before, after, length, total) -> torch.Tensor:
        """Return w_p p_j + w_r r_j of keys with so many positions before and after them."""
        b = 0.0
        if self.primacy is not None:
            b = b + self.primacy * torch.exp(-before / length) / total
        if self.recency is not None:
            b = b + self.recency * torch.exp(-after / length) / total
        return b
