"""Entropy of the next token (Shannon): H = −Σ p log p."""

MEASURE = {"unit": 1, "masked": True, "reads": ["entropy"]}
