"""Predictors of words that readers had not seen."""

from collections.abc import Iterator

from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "In self-paced reading and mazes the next word is not visible, so that it cannot affect the time of the word.",
    "reference": "Just, Carpenter & Woolley (1982), Journal of Experimental Psychology: General 111, 228-238",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs of self-paced times and mazes with a predictor of a later word."""
    for name, design in plan.designs.items():
        later = [n for n in names.used(design.formula) if names.split(n).shift > 0]
        if later and plan.tasks(name) & {"self_paced", "maze"}:
            yield Finding(
                name,
                "formula",
                f"{later[0]} is of a word that its readers had not seen yet",
                "leave it out, or use a separate design for eye tracking",
            )
