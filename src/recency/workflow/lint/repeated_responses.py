"""The same responses counted twice in a total."""

import json
from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "A total over responses counts the same observations twice, and its interval is too narrow.",
    "reference": "Lazic (2010), BMC Neuroscience 11, 5",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with the same measure of the same files under two designs or datasets."""
    for name in plan.experiments:
        first: dict[str, str] = {}
        for response in plan.responses(name):
            dataset, measure = response["dataset"], response["measure"]
            entry = plan.config["datasets"][dataset]
            settings = entry["measures"][measure]
            named = f"{dataset}.{measure} ({response['design']})"
            parts = [
                entry["responses"],
                entry.get("simulate"),
                settings.get("of"),
                settings.get("event"),
            ]
            key = json.dumps([measure, parts], sort_keys=True, default=str)
            if (other := first.setdefault(key, named)) != named:
                yield Finding(
                    name,
                    "responses",
                    f"{named} has the same observations as {other}",
                    "list one of them, and compare designs or datasets in separate experiments",
                )
