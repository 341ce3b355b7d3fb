"""Power-law retention after a buffer: a = 1, b = -α log(max(1, (i - j + 1) / w)).

A key's weight is multiplied by 1 for the last w tokens, including the token itself, and by ((i - j
+ 1) / w)^(-α) before them: fleeting memory with an echoic buffer (Thamma & Heilbron 2025, arXiv
2508.05803, who use buffers of 3 to 7 words). With w = 1 and α = 0.5 it is ACT-R's base-level
activation, -α log t, of an item presented once, t = i - j + 1 tokens ago (Anderson & Schooler
1991).
"""

import torch

from recency.attention.biases import Affine, Bias

PARAMETERS = {
    "decay": {
        "description": "α, the exponent; 0.5 is ACT-R's",
        "type": "number",
        "minimum": 0,
        "default": 0.5,
    },
    "buffer": {
        "description": "w, tokens at full weight, the token itself included",
        "type": "integer",
        "minimum": 1,
        "default": 1,
    },
}


class Form(Bias):
    """Attention decreases with a power of the distance beyond a buffer."""

    def __init__(self, heads: int, decay: float = 0.5, buffer: int = 1):
        super().__init__(heads)
        self.decay, self.buffer = decay, buffer

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = -α log(max(1, (i - j + 1) / w))."""
        # Later keys are masked; the maximum keeps the logarithm defined for them.
        steps = (query - key + 1).clamp(min=self.buffer)
        return 1.0, -self.decay * torch.log(steps / self.buffer)
