"""Searches with few trials."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "searches",
    "why": "A few trials leave the optimum of two or three parameters to chance.",
    "reference": "Bergstra & Bengio (2012), Journal of Machine Learning Research 13, 281-305",
}

FEWEST = 20


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield searches with fewer than 20 trials."""
    for name, search in plan.config.get("searches", {}).items():
        if search["trials"] < FEWEST:
            yield Finding(name, "trials", f"{search['trials']} trials", f"write at least {FEWEST}")
