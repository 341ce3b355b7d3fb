"""Pointwise mutual information: surprisal without context − surprisal in context."""

MEASURE = {"unit": 1, "masked": False, "contexts": [0]}


def value(words):
    """Return the decrease of surprisal due to the context."""
    return words.surprisal[0] - words.surprisal[-1]
