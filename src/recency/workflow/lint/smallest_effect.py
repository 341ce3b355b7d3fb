"""An implausible smallest effect of interest, or none."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "Claims are judged by it: without one, any difference supports a claim; with a very large one, none does.",
    "reference": "Lakens, Scheel & Isager (2018), Advances in Methods and Practices in Psychological Science 1, 259-269",
}

#: Unit → least and largest plausible value.
LIMITS = {"relative": (0.005, 0.5), "nats_per_1000": (0.005, 10)}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments that rank LMs by reading times with an implausible smallest effect."""
    for name, experiment in plan.experiments.items():
        if not experiment.get("responses") or len(plan.lms(name)) < 2:
            continue
        stated = experiment.get("smallest_effect", plan.config.get("smallest_effect")) or {}
        values = {unit: value for unit, value in stated.items() if value}
        if not values:
            yield Finding(name, "smallest_effect", "none is stated, or it is 0", WAY)
        for unit, value in values.items():
            low, high = LIMITS[unit]
            if not low <= value <= high:
                text = f"{unit} {value:g} is outside {low:g} to {high:g}"
                yield Finding(name, "smallest_effect", text, WAY)


WAY = "write one such as `{relative: 0.1}` before any result is seen"
