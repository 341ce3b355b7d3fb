"""Log-likelihood of the fixed effects only, with random effects at 0."""

from recency.regression.log_likelihoods import Scored

ENDPOINT = {
    "observations": "held out",
    "effects": "fixed effects alone",
    "of": "of the exploratory partition, by fixed effects alone",
    "short": "fixed effects",
    "rescaled": True,
    "order": 4,
}


def parts(scored: Scored):
    """Return the log-likelihood (n,) of each row."""
    return scored.independent()
