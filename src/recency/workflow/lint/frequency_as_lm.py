"""A unigram LM next to unigram surprisal as a control."""

from collections.abc import Iterator

from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "lms",
    "why": "The LM's surprisal is the frequency control itself, so that no design can separate the two.",
    "reference": "docs/regression.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield unigram LMs of the corpus that the frequency predictor is estimated from."""
    scale = plan.config["scales"][plan.config["scale"]]
    unigram = plan.config["unigrams"][scale["unigram"]]
    for name in plan.experiments:
        formulas = [plan.designs[r["design"]].formula for r in plan.responses(name)]
        if not any("unigram" in names.used(formula) for formula in formulas):
            continue
        for lm in plan.lms(name):
            ngram = plan.config["lms"][lm].get("ngram", {})
            same = ngram.get("corpus") is not None and ngram["corpus"] == unigram.get("corpus")
            if same and ngram.get("order", 5) == unigram.get("order", 1):
                yield Finding(
                    lm,
                    "ngram",
                    f"it is estimated like {scale['unigram']!r}, the predictor unigram of its designs",
                    "use a design without unigram for it, or an n-gram LM of a higher order",
                )
