"""Logarithm of the rank."""

import numpy as np

MEASURE = {"unit": 1, "masked": True, "reads": ["rank"]}


def value(words):
    """Return log rank, nats."""
    return np.log(words.before("rank"))
