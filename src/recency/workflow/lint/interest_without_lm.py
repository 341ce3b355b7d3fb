"""Effects of interest that no LM affects."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "ΔLogLik tests the effects of interest: without a measure of the LM among them, it is the same for every LM.",
    "reference": "docs/regression.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs, in experiments with several LMs, without a measure of the LM of interest."""
    for name, design in plan.designs.items():
        several = any(len(plan.lms(experiment)) > 1 for experiment, *_ in design.uses)
        if several and not design.interest:
            listed = ", ".join(design.entry["of_interest"])
            yield Finding(
                name,
                "of_interest",
                f"{listed} is the same for every LM",
                "name a measure of the LM, such as surprisal",
            )
