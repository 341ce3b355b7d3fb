"""A ranking by baseline models that keep each LM's slopes."""

from collections.abc import Iterator

from recency.regression import designs
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "With `base: fixed`, each LM has a baseline model of its own with its slopes, so that its ΔLogLik hardly shows how good it is.",
    "reference": "docs/endpoint.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs with `base: fixed` and slopes of the LM, in experiments with several LMs."""
    for name, design in plan.designs.items():
        several = any(len(plan.lms(experiment)) > 1 for experiment, *_ in design.uses)
        fixed = designs.kind_of_base(design.entry) == "fixed"
        if several and fixed and design.slopes & set(design.interest):
            yield Finding(
                name,
                "base",
                "LMs are ranked by `base: fixed`, with a baseline model of its own for each LM",
                "write `base: all`, or `base: [all, fixed]` to see both",
            )
