"""Primacy and recency among the keys that precede: b = w_p p_ij + w_r r_ij, with learned weights.

p_ij ∝ e^(-j/n) and r_ij ∝ e^(-(i - j)/n), both normalised over the n = i + 1 keys that query i sees.
`primacy_recency` of a sequence that ends at each query: no value depends on the text that follows.
"""

import torch

from recency.attention.biases import Affine, primacy_recency

PARAMETERS = {
    "parts": {
        "description": "the terms to include",
        "enum": ["both", "primacy", "recency"],
        "default": "both",
    },
    "weight": {"description": "w_p and w_r at the start", "type": "number", "default": 0.5},
}


class Form(primacy_recency.Form):
    """Raises the scores of the first and the last of the preceding positions."""

    uses_length = False

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = w_p p_ij + w_r r_ij."""
        seen = query + 1.0
        # Later keys are masked; without the clamp their term would grow.
        back = (query - key).clamp(min=0)
        # Σ e^(-k/n) over k = 0 … n - 1, the same for both curves, which mirror each other.
        total = torch.expm1(-torch.ones_like(seen)) / torch.expm1(-1 / seen)
        return 1.0, self.curves(key, back, seen, total)
