"""Intervals that take the fits as known."""

from collections.abc import Iterator

from recency.regression.covered_endpoints import reason_not_crossed
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "Intervals without refitting cover the true difference of LMs in 88 to 92 % of cases where 95 % is stated.",
    "reference": "docs/how_sure.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with `bootstrap: given_fits` whose designs can be refitted."""
    for name, experiment in plan.experiments.items():
        if experiment.get("bootstrap") != "given_fits":
            continue
        asked = {response["design"] for response in plan.responses(name)}
        if asked and not any(reason_not_crossed(plan.designs[design].entry) for design in asked):
            yield Finding(
                name,
                "bootstrap",
                "its intervals do not include the uncertainty of the fits",
                "write `bootstrap: crossed`, or leave it out",
            )
