"""Linear bias whose heads look one way each, for masked LMs.

a = 1, b = -m_h |i - j|; the first half of the heads sees what was read before alone, the others what
comes after alone, and each its own token: b = -∞ elsewhere. `mix` gives each half the slopes of as
many heads.
"""

import torch

from recency.attention.biases import Affine, Bias
from recency.attention.biases.linear import by_head, slopes_of
from recency.errors import InputError

PARAMETERS = {
    "slopes": {
        "description": "m_h of one half, as of `linear`; the other has the same",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
        ],
        "default": "mix",
    },
}


class Form(Bias):
    """Half of the heads look back, half look ahead, each less far the steeper its slope."""

    both_directions = True

    def __init__(self, heads: int, slopes: str | float = "mix"):
        super().__init__(heads)
        if heads % 2:
            raise InputError(
                f"one_sided: {heads} heads have no halves; take an even number of heads"
            )
        self.slopes = 2 * slopes_of(slopes, heads // 2)

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = -m_h |i - j| on a head's own side, -∞ on the other."""
        seen = torch.where(head < self.heads // 2, query - key, key - query)
        return 1.0, torch.where(seen >= 0, -by_head(self.slopes, head) * seen, float("-inf"))
