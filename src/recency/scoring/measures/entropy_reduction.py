"""Entropy reduction by the word (Hale 2006): max(0, H before the word − H after it)."""

import numpy as np

MEASURE = {"unit": 1, "masked": False, "reads": ["entropy"]}


def value(words):
    """Return the decrease of entropy from a word to the next one; 0 if it increases."""
    return np.maximum(0.0, words.before("entropy") - words.after("entropy"))
