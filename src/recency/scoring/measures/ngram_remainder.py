"""Surprisal not explained by an n-gram model: residuals of surprisal ~ 1 + n-gram surprisal."""

from recency.scoring.ngram_likeness import fit

MEASURE = {"unit": 1, "masked": False}


def ngram(surprisal, reference):
    """Return the residuals of the words."""
    return surprisal - fit(surprisal, reference).fitted
