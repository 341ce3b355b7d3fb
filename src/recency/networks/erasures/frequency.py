"""Erasure by frequency: q = logistic(intercept + slope · z), z the Zipf frequency of the word.

z is log10 of occurrences per billion words (van Heuven et al. 2014): 1 to 3 for rare words, 4 to 7
for frequent ones. With a negative slope frequent words, which are easy to predict, are erased
first, as in the optimal memories of Hahn et al. (2022).
"""

from recency.networks.erasures import Erasure, logistic

PARAMETERS = {
    "slope": {"description": "change of the log odds for each unit of z", "type": "number"},
    "intercept": {"description": "log odds of retention at z = 0", "type": "number"},
}


class Form(Erasure):
    """Log odds of retention are linear in log frequency."""

    features = ("frequency",)

    def __init__(self, slope: float, intercept: float):
        self.slope, self.intercept = slope, intercept

    def retention(self, words):
        """Return logistic(intercept + slope · z)."""
        return logistic(self.intercept + self.slope * words.frequency)
