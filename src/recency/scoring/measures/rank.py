"""Rank of the token that came: 1 + the number of more probable ones."""

MEASURE = {"unit": 0, "masked": True, "reads": ["rank"]}
