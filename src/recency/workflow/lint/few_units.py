"""Fewer than eight subjects, sentences or items."""

from collections.abc import Iterator

from recency.regression.designs import FEWEST_LEVELS
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "datasets",
    "why": "Variances between fewer than about eight subjects or items are hardly estimated, and intervals by them are too narrow.",
    "reference": "Bolker et al. (2009), Trends in Ecology & Evolution 24, 127-135",
    "noted": ["fewer than 8"],
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield datasets with too few subjects, sentences or texts, where the config says how many."""
    for name, dataset in plan.datasets.items():
        counted = dict(dataset.get("published_counts", {}))
        key = "published_counts"
        if "simulate" in dataset:
            counted = {"subjects": dataset["simulate"]["readers"]["subjects"]}
            counted["items"] = dataset["simulate"]["stories"]
            key = "simulate"
        for unit, number in counted.items():
            if unit != "words" and number < FEWEST_LEVELS:
                yield Finding(
                    name,
                    key,
                    f"{number} {unit}, fewer than {FEWEST_LEVELS}",
                    f"add {unit}, or claim nothing beyond these",
                )
