"""Log-likelihood with the by-subject effects integrated out."""

from crosslmm.expressions import split_product
from recency.regression.log_likelihoods import Scored

ENDPOINT = {
    "observations": "held out",
    "effects": "by-subject effects integrated out",
    "of": "of the exploratory partition, by-subject effects integrated out",
    "short": "marginal, subjects",
    "order": 2,
}


def parts(scored: Scored):
    """Return the part (n,) of each row."""
    return scored.marginal([n for n in scored.record["random"] if "subject" in split_product(n)])
