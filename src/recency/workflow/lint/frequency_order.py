"""A frequency predictor of an order above 1."""

from collections.abc import Iterator

from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "unigrams",
    "why": "An n-gram of a higher order is a probability in context, which is what surprisal is tested for.",
    "reference": "Shain (2024), Open Mind 8, 177-201",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield the scale's unigram model, if it is of a higher order."""
    unigram = plan.config["scales"][plan.config["scale"]]["unigram"]
    entry = plan.config["unigrams"][unigram]
    for name in dict.fromkeys(entry.get("languages", {"": unigram}).values()):
        order = plan.config["unigrams"][name].get("order", 1)
        if order > 1 and any("unigram" in names.used(d.formula) for d in plan.designs.values()):
            text = f"the predictor unigram is of order {order}"
            yield Finding(name, "order", text, "write `order: 1`, or leave it out")
