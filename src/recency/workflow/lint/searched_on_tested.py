"""Biases that were searched on the responses that test them."""

from collections.abc import Iterator

from recency import config as configuration
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "Parameters chosen to fit a response fit its noise too, so that response no longer tests them.",
    "reference": "Kriegeskorte, Simmons, Bellgowan & Baker (2009), Nature Neuroscience 12, 535-540",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with a response on which a bias of its LMs was searched."""
    for name, experiment in plan.experiments.items():
        if "search" not in experiment:
            continue
        search = plan.config["searches"][experiment["search"]]
        tested = {(r["dataset"], r["measure"]) for r in plan.responses(name)}
        used = configuration.responses(plan.config, experiment["search"], "searches")
        both = [r for r in used if (r["dataset"], r["measure"]) in tested]
        biases = {plan.config["lms"][lm].get("bias") for lm in plan.lms(name)}
        if both and biases & set(search.get("mark", ())):
            response = "{dataset}.{measure}".format(**both[0])
            yield Finding(
                name,
                "responses",
                f"{response} tests a bias that the search {experiment['search']!r} chose by it",
                "leave the response out, or search on other data",
            )
