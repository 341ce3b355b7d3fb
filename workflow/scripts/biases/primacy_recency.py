"""Primacy and recency: b = w_p p_j + w_r r_j, with learned weights.

p_j ∝ e^(-j/L) and r_j ∝ e^(-(L - 1 - j)/L), both normalised over the L positions of the sequence.
The working-memory study; its ablations keep only one of the two.
"""

import torch
from torch import nn

from biases import Affine, Bias

PARAMETERS = {
    "parts": {
        "description": "which of the two terms there are",
        "enum": ["both", "primacy", "recency"],
        "default": "both",
    },
    "weight": {"description": "w_p and w_r at the start", "type": "number", "default": 0.5},
}


class Form(Bias):
    """The first and the last positions of a sequence are lifted."""

    uses_length = True

    def __init__(self, heads: int, parts: str = "both", weight: float = 0.5):
        super().__init__(heads)
        self.primacy = nn.Parameter(torch.tensor(weight)) if parts != "recency" else None
        self.recency = nn.Parameter(torch.tensor(weight)) if parts != "primacy" else None

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = w_p p_j + w_r r_j."""
        # Over all L positions the normalised curve is a softmax of its exponent; both share one
        # denominator, since the recency curve is the primacy curve reversed.
        position = torch.arange(length, device=key.device, dtype=torch.float32)
        denominator = torch.logsumexp(-position / length, 0)
        b = 0.0
        if self.primacy is not None:
            b = b + self.primacy * torch.exp(-key / length - denominator)
        if self.recency is not None:
            b = b + self.recency * torch.exp(-(length - 1 - key) / length - denominator)
        return 1.0, b
