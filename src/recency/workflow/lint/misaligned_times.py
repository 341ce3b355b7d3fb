"""Natural Stories with each time one word too early, outside a replication."""

from collections.abc import Iterator

from recency import config as configuration
from recency import plugins
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "The first release has each time at the word before; the papers used it, and other studies need the corrected times.",
    "reference": "docs/corpora.md, Natural Stories",
}
CORPUS = "Futrell et al. (2021)"


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments that are no replication, on Natural Stories without its correction."""
    for name, experiment in plan.experiments.items():
        if experiment.get("published"):
            continue
        for dataset in dict.fromkeys(response["dataset"] for response in plan.responses(name)):
            entry = plan.config["datasets"][dataset]
            options = plugins.keywords(configuration.PARSERS, entry["parser"], "responses")
            is_shifted = "offset" in options and entry.get("options", {}).get("offset", 0) == 0
            if is_shifted and CORPUS in entry.get("cite", ""):
                yield Finding(
                    name,
                    "responses",
                    f"{dataset} has `offset: 0`, by which each time is one word too early",
                    f"write `datasets: {{{dataset}: {{options: {{offset: 1}}, accept: []}}}}`",
                )
