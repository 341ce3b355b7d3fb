"""Rank of the observed token: 1 + the number of more probable tokens."""

MEASURE = {"unit": 0, "masked": True, "reads": ["rank"]}
