"""Pointwise mutual information of word and context: surprisal without context − surprisal in context."""

MEASURE = {"unit": 1, "masked": False, "contexts": [0]}


def value(words):
    """Return the decrease of surprisal by the context."""
    return words.surprisal[0] - words.surprisal[-1]
