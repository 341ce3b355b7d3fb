"""Marginal log-likelihood: all random effects integrated out."""

from recency.regression.log_likelihoods import Scored

ENDPOINT = {
    "observations": "held out",
    "effects": "all random effects integrated out",
    "of": "of the exploratory partition, random effects integrated out",
    "short": "marginal",
    "order": 3,
}


def parts(scored: Scored):
    """Return the part (n,) of each row."""
    return scored.marginal()
