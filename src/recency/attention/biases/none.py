"""No bias: a = 1, b = 0; the network keeps its rotary embedding (Clark et al. 2025, Equation 1)."""

from recency.attention.biases import Affine, Bias

PARAMETERS: dict = {}


class Form(Bias):
    """Unchanged scaled scores."""

    both_directions = True

    def forward(self, head, query, key, length) -> Affine:
        """Return a = 1, b = 0."""
        return 1.0, 0.0
