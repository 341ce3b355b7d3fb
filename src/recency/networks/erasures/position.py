"""Erasure by position n = 1, 2 … in the sentence: q = logistic(intercept + slope · n).

With a negative slope the first words of a sentence are retained best (primacy).
"""

from recency.networks.erasures import Erasure, logistic

PARAMETERS = {
    "slope": {"description": "change of the log odds for each word", "type": "number"},
    "intercept": {"description": "log odds of retention at n = 0", "type": "number"},
}


class Form(Erasure):
    """Log odds of retention are linear in the position."""

    features = ("position",)

    def __init__(self, slope: float, intercept: float):
        self.slope, self.intercept = slope, intercept

    def retention(self, words):
        """Return logistic(intercept + slope · n)."""
        return logistic(self.intercept + self.slope * words.position)
