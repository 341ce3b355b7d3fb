"""A ranking by the likelihood of the fitted observations."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "The likelihood of fitted observations rewards flexibility; held-out observations are there and show prediction.",
    "reference": "Yarkoni & Westfall (2017), Perspectives on Psychological Science 12, 1100-1122",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with `endpoint: in_sample` on partitioned datasets."""
    for name, experiment in plan.experiments.items():
        datasets = {response["dataset"] for response in plan.responses(name)}
        split = [d for d in datasets if plan.config["datasets"][d].get("partitioned", True)]
        if experiment.get("endpoint") == "in_sample" and split:
            yield Finding(
                name,
                "endpoint",
                "LMs are ranked by the observations to which models were fitted, and others are held out",
                "leave `endpoint` out: the default scores unseen subjects and sentences",
            )
