"""The paper's endpoint outside a replication."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "`modelblocks` scores by fixed effects and leaves out variance by sentence; it separates LMs worse than the default.",
    "reference": "docs/endpoint.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with `endpoint: modelblocks` that show no published values."""
    for name, experiment in plan.experiments.items():
        if experiment.get("endpoint") == "modelblocks" and not experiment.get("published"):
            yield Finding(
                name,
                "endpoint",
                "modelblocks is the endpoint of a replication, and no published values are named",
                "leave `endpoint` out for the default, crossed",
            )
