"""`top_<k>`, 1 if the rank is at most k, else 0 (Gehrmann et al. 2019)."""

import numpy as np

MEASURE = {
    "unit": 0,
    "masked": True,
    "reads": ["rank"],
    "parameter": {"name": "k", "type": "integer", "minimum": 1, "example": 5},
}


def value(words, k):
    """Return whether the rank is at most k; NaN without a rank."""
    rank = words.before("rank")
    return np.where(np.isnan(rank), np.nan, rank <= k)
