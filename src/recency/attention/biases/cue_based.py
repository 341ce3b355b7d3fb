"""Cue-based retrieval with interference: keys that match a cue share their activation.

a = 1, b = -d log(i - j + 1) + W m_ij (S - log fan_ij). The query of each head is a cue. A key
matches it by m_ij = σ(κ(s_ij - θ)), between 0 and 1, and fan_ij = 1 + Σ_{k≤i, k≠j} m_ik is one plus
the number of matching competitors. In ACT-R (Lewis & Vasishth 2005, Equations 1 to 3) an item's
activation is its base level, -d log t, plus the activation that each cue spreads, W times the
strength S - log fan. The more keys match, the less each is activated: similarity-based
interference.
"""

import torch

from recency.attention.biases import Affine
from recency.attention.content import ContentBias, Layer

PARAMETERS = {
    "decay": {
        "description": "d, the rate of base-level decay; 0.5 is ACT-R's",
        "type": "number",
        "minimum": 0,
        "default": 0.5,
    },
    "weight": {
        "description": "W, the activation that a cue spreads",
        "type": "number",
        "minimum": 0,
        "default": 1,
    },
    "strength": {
        "description": "S, the maximum associative strength; 1.5 in Lewis & Vasishth (2005)",
        "type": "number",
        "default": 1.5,
    },
    "threshold": {
        "description": "θ, the scaled score at which a key half matches the cue",
        "type": "number",
        "default": 0,
    },
    "sharpness": {
        "description": "κ, how abruptly a match depends on the scaled score",
        "type": "number",
        "exclusiveMinimum": 0,
        "default": 1,
    },
}


class Form(ContentBias):
    """Cue-based retrieval: competitors weaken a match, and items decay with age."""

    def __init__(
        self,
        heads: int,
        width: int,
        decay: float = 0.5,
        weight: float = 1,
        strength: float = 1.5,
        threshold: float = 0,
        sharpness: float = 1,
    ):
        super().__init__(heads, width)
        self.decay, self.spread, self.strength = decay, weight, strength
        self.threshold, self.sharpness = threshold, sharpness

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1 and the base level, -d log(i - j + 1)."""
        age = (query - key + 1).clamp(min=1)  # later keys are masked
        return 1.0, -self.decay * torch.log(age)

    def content(self, layer: Layer) -> Affine:
        """Return a = 1 and the activation that the cue spreads to each key."""
        match = torch.sigmoid(self.sharpness * (layer.scores - self.threshold))
        match = match.masked_fill(~layer.visible, 0.0)
        competitors = match.sum(-1, keepdim=True) - match
        return 1.0, self.spread * match * (self.strength - torch.log1p(competitors))
