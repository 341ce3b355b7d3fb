"""Linear recency bias, ALiBi: a = 1, b = m_h (j - i).

Press et al. (2022); Clark et al. (2025), Equations 3 and 4.
"""

import torch

from recency.attention.biases import Affine, Bias
from recency.errors import InputError

PARAMETERS = {
    "slopes": {
        "description": "m_h: `mix` for 2^(-8h/H), h = 1 … H; a number for all heads; or one a head",
        "anyOf": [
            {"const": "mix"},
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        ],
        "default": "mix",
    }
}


def mixed_slopes(heads: int) -> list[float]:
    """Return the geometric slopes 2^(-8h/H), steepest first.

    If H is not a power of two, they are the slopes of the next lower power, then every second one
    of the next higher power (Press et al. 2022, their released code).
    """
    below = 2 ** (heads.bit_length() - 1)
    slopes = [2 ** (-8 * h / below) for h in range(1, below + 1)]
    above = [2 ** (-8 * h / (2 * below)) for h in range(1, 2 * below + 1)]
    return slopes + above[0::2][: heads - below]


def slopes_of(slopes: str | float | list[float], heads: int) -> list[float]:
    """Return one slope per head from the config's value: `mix`, a number, or one per head."""
    if slopes == "mix":
        return mixed_slopes(heads)
    slopes = [slopes] * heads if isinstance(slopes, int | float) else slopes
    if len(slopes) != heads:
        raise InputError(f"linear bias: {len(slopes)} slopes for {heads} heads: {slopes}")
    return slopes


def by_head(slopes: list[float], head: torch.Tensor) -> torch.Tensor:
    """Return the slope of each head of `head`, with operations that a kernel supports."""
    slope = torch.full_like(head, slopes[0], dtype=torch.float32)
    for number, other in enumerate(slopes[1:], 1):
        slope = torch.where(head == number, other, slope)
    return slope


class Form(Bias):
    """Scores decrease by the head's slope per token of distance."""

    def __init__(self, heads: int, slopes: str | float | list[float] = "mix"):
        super().__init__(heads)
        # Not a buffer: from_pretrained builds models on the meta device, which would lose it.
        self.slopes = slopes_of(slopes, heads)

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = m_h (j - i)."""
        return 1.0, self.slope(head) * (key - query)

    def slope(self, head: torch.Tensor) -> torch.Tensor:
        """Return m_h of each head of `head`."""
        return by_head(self.slopes, head)
