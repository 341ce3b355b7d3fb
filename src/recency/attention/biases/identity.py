"""Control for the exponential bias: a = 1 - α, b = α on a token itself and 0 elsewhere.

With the published λ = 82.86 the exponential term is 1 on the diagonal and under 1e-35 elsewhere, so
"dVM" acts as a temperature and a bonus for the token itself. This form makes that explicit.
"""

from recency.attention.biases import Affine, Bias

PARAMETERS = {
    "weight": {
        "description": "α, 0 to 1",
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "default": 0.37,
    }
}


class Form(Bias):
    """A temperature and a bonus for the token itself, without any decay."""

    both_directions = True

    def __init__(self, heads: int, weight: float = 0.37):
        super().__init__(heads)
        self.weight = weight

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1 - α, b = α [i = j]."""
        return 1.0 - self.weight, self.weight * (query == key)
