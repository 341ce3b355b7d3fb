"""A sensitivity analysis that varies nothing."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "A setting with one value shows no dependence on it.",
    "reference": "Steegen, Tuerlinckx, Gelman & Vanpaemel (2016), Perspectives on Psychological Science 11, 702-712",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with a single value of a setting under `sensitivity`."""
    for name, experiment in plan.experiments.items():
        for key, values in experiment.get("sensitivity", {}).items():
            if len(values) == 1:
                yield Finding(
                    name,
                    f"sensitivity → {key}",
                    f"{values[0]} is its only value",
                    "add another, or set it in the LMs or the design",
                )
