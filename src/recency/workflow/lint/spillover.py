"""Self-paced reading without predictors of preceding words."""

from collections.abc import Iterator

from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "In self-paced reading, the effect of a word largely falls on the times of the next words.",
    "reference": "Smith & Levy (2013), Cognition 128, 302-319",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs of self-paced times without a predictor of a preceding word."""
    for name, design in plan.designs.items():
        used = names.used(design.formula)
        if any(names.split(used_name).shift < 0 for used_name in used):
            continue
        if "self_paced" in plan.tasks(name):
            yield Finding(
                name,
                "formula",
                "self-paced reading without a predictor of a preceding word",
                "add previous_surprisal, previous_length and previous_unigram",
            )
