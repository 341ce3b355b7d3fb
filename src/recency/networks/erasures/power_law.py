"""Power-law erasure with a buffer of w words: q(d) = 1 for d ≤ w, then (d / w)^-α.

Power laws describe forgetting over time (Anderson & Schooler 1991). Within the buffer nothing is
lost, as in echoic memory.
"""

import numpy as np

from recency.networks.erasures import Erasure

PARAMETERS = {
    "exponent": {"description": "α", "type": "number", "exclusiveMinimum": 0},
    "buffer": {
        "description": "w, words before the predicted one that are always retained",
        "type": "integer",
        "minimum": 1,
        "default": 1,
    },
}


class Form(Erasure):
    """Retention decreases with a power of the distance."""

    def __init__(self, exponent: float, buffer: int = 1):
        self.exponent, self.buffer = exponent, buffer

    def retention(self, words):
        """Return max(1, d / w)^-α."""
        return np.maximum(1.0, np.asarray(words.distance) / self.buffer) ** -self.exponent
