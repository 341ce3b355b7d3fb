"""Exponential recency bias, dVM: a = 1 - α, b = α e^(-λ(i - j)).

de Varda & Marelli (2024); Clark et al. (2025), Equation 2.
"""

import torch

from recency.attention.biases import Affine, Bias

PARAMETERS = {
    "decay": {
        "description": "λ, per token. The published 82.86 is negligible off the diagonal",
        "type": "number",
        "minimum": 0,
        "default": 82.86,
    },
    "weight": {
        "description": "α, the weight of the bias against the score, 0 to 1",
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "default": 0.37,
    },
}


class Form(Bias):
    """A weighted mean of the score and an exponential decay."""

    def __init__(self, heads: int, decay: float = 82.86, weight: float = 0.37):
        super().__init__(heads)
        self.decay, self.weight = decay, weight

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1 - α, b = α e^(-λ(i - j))."""
        # Later keys are masked; without the clamp their term would overflow.
        distance = (query - key).clamp(min=0)
        return 1.0 - self.weight, self.weight * torch.exp(-self.decay * distance)
