"""Linear bias in both directions, for masked LMs: a = 1, b = -m_h (|i - j| - o [j > i]).

With the offset o = 1/2 a token k ahead is nearer than a token k back, so that the two are
distinguishable without position embeddings; with o = 0 the bias is symmetric.
"""

import torch

from recency.attention.biases import Affine
from recency.attention.biases.linear import Form as Linear

PARAMETERS = {
    "slopes": {
        "description": "m_h, as for `linear`",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    },
    "offset": {
        "description": "o, tokens by which following tokens are nearer",
        "type": "number",
        "minimum": 0,
        "default": 0.5,
    },
}


class Form(Linear):
    """Scores decrease by the head's slope per token of distance, in both directions."""

    both_directions = True

    def __init__(self, heads: int, slopes: str | float | list[float] = "mix", offset: float = 0.5):
        super().__init__(heads, slopes)
        self.offset = offset

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = -m_h (|i - j| - o [j > i])."""
        distance = torch.abs(query - key) - self.offset * (key > query)
        return 1.0, -self.slope(head) * distance
