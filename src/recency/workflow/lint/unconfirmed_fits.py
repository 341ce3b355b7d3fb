"""Fits that are never compared with lme4."""

from collections.abc import Iterator

from recency.regression import designs
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "A comparison with an independent implementation is what shows a faulty fit.",
    "reference": "docs/regression.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs with `confirm: 0` whose fits lme4 could confirm."""
    for name, design in plan.designs.items():
        entry = design.entry
        searched = entry["engine"] == "cross_products" and designs.is_mixed(entry)
        if searched and entry.get("confirm") == 0:
            yield Finding(
                name,
                "confirm",
                "no fit is compared with lme4",
                "write `confirm: 0.1`, the default, or leave it out",
            )
