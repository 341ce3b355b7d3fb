"""Linear bias in both directions, for masked LMs: a = 1, b = -m_h (|i - j| - o [j > i]).

With the offset o = 1/2 a token k ahead is nearer than one k back, so that the two can be told
apart without positions; with o = 0 the bias is symmetric.
"""

import torch

from recency.attention.biases import Affine
from recency.attention.biases.linear import Form as Linear

PARAMETERS = {
    "slopes": {
        "description": "m_h: as of `linear`",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    },
    "offset": {
        "description": "o, tokens; what comes after is nearer by it",
        "type": "number",
        "minimum": 0,
        "default": 0.5,
    },
}


class Form(Linear):
    """Scores fall by the head's slope for every token of distance, ahead as well as back."""

    both_directions = True

    def __init__(self, heads: int, slopes: str | float | list[float] = "mix", offset: float = 0.5):
        super().__init__(heads, slopes)
        self.offset = offset

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = -m_h (|i - j| - o [j > i])."""
        distance = torch.abs(query - key) - self.offset * (key > query)
        return 1.0, -self.slope(head) * distance
