"""Conditional log-likelihood given the random effects, which are 0 for new levels."""

from recency.regression.log_likelihoods import Scored, contributions

ENDPOINT = {
    "observations": "held out",
    "effects": "given the random effects",
    "of": "of the exploratory partition, given the random effects",
    "short": "conditional",
    "mixed": False,
    "order": 1,
}


def parts(scored: Scored):
    """Return the log-likelihood (n,) of each row."""
    return contributions(scored.record, scored.rows)
