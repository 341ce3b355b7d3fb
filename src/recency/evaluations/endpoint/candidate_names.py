"""Names of candidate endpoints in figures and tables."""

from collections.abc import Sequence

from recency.endpoints import ENDPOINTS

DATA = {"crossed": "crossed", "in_sample": "in-sample", "held_out": "held-out"}
LIKELIHOODS = {name: endpoint.short for name, endpoint in ENDPOINTS.items() if endpoint.short}
BASELINES = ("all", "fixed")
PRIMARY = ("all", "marginal", "crossed")
"""Baseline, likelihood and data of the primary endpoint."""
FACTORS = {
    "slope_sd": "slope sd",
    "word_sd": "word sd, ms",
    "subjects": "subjects",
    "sentences": "sentences",
    "responses": "responses",
    "seeds": "seeds",
}
NOTES = [
    (
        "crossed: the crossed bootstrap; in-sample: the fitted observations; held-out: the "
        "exploratory partition"
    ),
    "size: either of two equally close LMs is claimed to be better (nominal 5 %)",
    "power: the closer one of two LMs is claimed to be better",
]


def order(candidates: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Sort candidates (baseline, likelihood, data) by baseline, data and likelihood."""
    listed = [
        (baseline, likelihood, data)
        for baseline in BASELINES
        for data in DATA
        for likelihood in LIKELIHOODS
    ]
    return [candidate for candidate in listed if candidate in set(candidates)]
