"""Log-likelihood as the Modelblocks script computes it (Clark et al. 2025)."""

from crosslmm import recorded
from recency.regression.log_likelihoods import Scored

ENDPOINT = {
    "observations": "held out",
    "effects": "the script of Modelblocks",
    "of": "of the exploratory partition, as the authors' script computes it",
    "short": "Modelblocks",
    "rescaled": True,
    "order": 5,
}


def parts(scored: Scored):
    """Return the part (n,) of each row; None unless the model is linear with by-subject effects."""
    record = scored.record
    if "density" in record or "subject" not in record["random"]:
        return None
    levels = {name: len(modes) for name, modes in record["ranef"].items()}
    given = record, scored.predictors, scored.rows.groups
    return recorded.modelblocks(scored.residuals, *given, levels) + scored.transformed[1]
