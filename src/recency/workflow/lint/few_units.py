"""Fewer than eight subjects, sentences or items."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "datasets",
    "why": "Variances between fewer than about eight subjects or items are hardly estimated, and intervals by them are too narrow.",
    "reference": "Bolker et al. (2009), Trends in Ecology & Evolution 24, 127-135",
}

FEWEST = 8


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield datasets with too few units of their designs' random effects, where the config says."""
    for name, dataset in plan.datasets.items():
        counted = dict(dataset.get("published_counts", {}))
        key = "published_counts"
        if "simulate" in dataset:
            counted = {"subjects": dataset["simulate"]["readers"]["subjects"]}
            counted["items"] = dataset["simulate"]["stories"]
            key = "simulate"
        groups = {
            group
            for design in plan.designs.values()
            if any(used == name for _, used, _ in design.uses)
            for group in design.formula.groups
        } | {"subject"}
        for unit, number in counted.items():
            if unit.removesuffix("s") in groups and number < FEWEST:
                yield Finding(
                    name,
                    key,
                    f"{number} {unit}, fewer than {FEWEST}",
                    f"add {unit}, or make them no random effect and claim nothing beyond them",
                )
