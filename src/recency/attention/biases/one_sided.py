"""Linear bias for masked LMs in which each head looks in one direction.

a = 1, b = -m_h |i - j|. The first half of the heads sees only preceding tokens, the second half
only following ones, and each the token itself; b = -∞ elsewhere. With `mix` each half has the
slopes of a model with that many heads.
"""

import torch

from recency.attention.biases import Affine, Bias
from recency.attention.biases.linear import by_head, slopes_of
from recency.errors import InputError

PARAMETERS = {
    "slopes": {
        "description": "m_h of one half, as for `linear`; the other half has the same",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
        ],
        "default": "mix",
    },
}


class Form(Bias):
    """Half of the heads look back, half look ahead."""

    both_directions = True

    def __init__(self, heads: int, slopes: str | float = "mix"):
        super().__init__(heads)
        if heads % 2:
            raise InputError(
                f"one_sided: {heads} heads have no halves; take an even number of heads"
            )
        self.slopes = 2 * slopes_of(slopes, heads // 2)

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = -m_h |i - j| in a head's direction, -∞ in the other."""
        seen = torch.where(head < self.heads // 2, query - key, key - query)
        return 1.0, torch.where(seen >= 0, -by_head(self.slopes, head) * seen, float("-inf"))
