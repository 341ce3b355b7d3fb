"""Truncation: the last k words are retained, and no others (Kuribayashi et al. 2022)."""

import numpy as np

from recency.networks.erasures import Erasure

PARAMETERS = {"words": {"description": "k", "type": "integer", "minimum": 0}}


class Form(Erasure):
    """A window of words."""

    def __init__(self, words: int):
        self.words = words

    def retention(self, words):
        """Return 1 for d ≤ k, else 0."""
        return (np.asarray(words.distance) <= self.words).astype(float)
