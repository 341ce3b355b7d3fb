"""Entropy of the next word, over all continuations up to a word boundary (Clark et al. 2025)."""

MEASURE = {"unit": 1, "masked": False, "reads": ["word_entropy"], "separate": True}
