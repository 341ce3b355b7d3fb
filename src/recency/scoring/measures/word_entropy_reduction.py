"""Reduction of the next word's entropy: max(0, word entropy before the word − after it)."""

import numpy as np

MEASURE = {"unit": 1, "masked": False, "reads": ["word_entropy"], "separate": True}


def value(words):
    """Return the decrease of word entropy from a word to the next one; 0 if it increases."""
    return np.maximum(0.0, words.before("word_entropy") - words.after("word_entropy"))
