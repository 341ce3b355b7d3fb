"""An endpoint other than the default's, which nobody asked for."""

from collections.abc import Iterator

from recency import endpoints
from recency.reading import declared_columns
from recency.regression.covered_endpoints import reason_not_by_default
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "Without `endpoint`, LMs are ranked by the log-likelihood of unseen subjects and sentences where the design has it, and otherwise by a part of the data.",
    "reference": "docs/endpoint.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments without `endpoint` and `bootstrap` whose default is not the crossed one."""
    for name, experiment in plan.experiments.items():
        if experiment.get("endpoint") or experiment.get("bootstrap"):
            continue
        reasons = (
            reason_not_by_default(
                plan.designs[response["design"]].entry,
                declared_columns.is_of_items(plan.datasets[response["dataset"]]),
            )
            for response in plan.responses(name)
            if plan.datasets[response["dataset"]].get("partitioned", True)
        )
        if reason := next(filter(None, reasons), ""):
            yield Finding(
                name,
                "endpoint",
                f"its LMs are ranked by the {endpoints.DEFAULT_ALONE} likelihood of the exploratory "
                f"partition, not by that of unseen readers: {reason}",
                f"write `endpoint: {endpoints.DEFAULT_ALONE}`, or change the design",
            )
