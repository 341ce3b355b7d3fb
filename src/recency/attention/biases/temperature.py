"""Control for the exponential bias: a = 1/T, b = 0, the same for every distance.

With T = 1/(1 - α) it is the factor by which the exponential and identity biases scale all scores.
"""

from recency.attention.biases import Affine, Bias

PARAMETERS = {
    "temperature": {"description": "T", "type": "number", "exclusiveMinimum": 0, "default": 1.0}
}


class Form(Bias):
    """A temperature of the softmax: flatter attention for T > 1, sharper for T < 1."""

    both_directions = True

    def __init__(self, heads: int, temperature: float = 1.0):
        super().__init__(heads)
        self.temperature = temperature

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1/T, b = 0."""
        return 1.0 / self.temperature, 0.0
