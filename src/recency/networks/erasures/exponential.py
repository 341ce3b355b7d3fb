"""Exponential erasure: q(d) = f e^(-λ (d - 1)), d = 1 for the preceding word.

The progressive erasure noise of Futrell, Gibson & Levy (2020), where each further word erases a
symbol with probability e, has f = 1 - e and λ = -ln(1 - e).
"""

import math

import numpy as np

from recency.errors import InputError
from recency.networks.erasures import Erasure

PARAMETERS = {
    "half_life": {
        "description": "words over which the retention halves: ln 2 / λ",
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
    },
    "rate": {
        "description": "instead of `half_life`: λ, per word",
        "type": ["number", "null"],
        "minimum": 0,
        "default": None,
    },
    "first": {
        "description": "f, the retention of the word before the predicted one",
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "default": 1,
    },
}
RULES = {
    "allOf": [
        {
            "if": {"required": ["half_life"], "properties": {"half_life": {"type": "number"}}},
            "then": {"properties": {"rate": {"type": "null"}}},
            "else": {"required": ["rate"], "properties": {"rate": {"type": "number"}}},
            "x-message": "give exactly one of `half_life` and `rate`",
        }
    ]
}


class Form(Erasure):
    """Every word of distance multiplies the retention by the same factor."""

    def __init__(
        self, half_life: float | None = None, rate: float | None = None, first: float = 1.0
    ):
        if (half_life is None) == (rate is None):
            raise InputError("exponential: give exactly one of `half_life` and `rate`")
        self.rate = math.log(2) / half_life if rate is None else rate
        self.first = first

    def retention(self, words):
        """Return f e^(-λ (d - 1))."""
        return self.first * np.exp(-self.rate * (np.asarray(words.distance) - 1.0))
