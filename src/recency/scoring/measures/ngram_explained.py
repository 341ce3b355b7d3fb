"""Surprisal explained by an n-gram model: fitted values of surprisal ~ 1 + n-gram surprisal."""

from recency.scoring.ngram_likeness import fit

MEASURE = {"unit": 1, "masked": False}


def ngram(surprisal, reference):
    """Return the fitted values of the words."""
    return fit(surprisal, reference).fitted
