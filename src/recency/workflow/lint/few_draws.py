"""Too few, or needlessly many, draws of the bootstrap."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "The ends of a 95 % interval are among the outermost draws: fewer than 100 leave them to chance, and over 20,000 add nothing.",
    "reference": "Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 19",
}

LIMITS = (100, 20_000)


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with implausible `draws`."""
    for name, experiment in plan.experiments.items():
        draws = experiment.get("draws")
        if draws is not None and not LIMITS[0] <= draws <= LIMITS[1]:
            yield Finding(
                name,
                "draws",
                f"{draws:,} draws are outside {LIMITS[0]} to {LIMITS[1]:,}",
                "leave it out for the default, 500",
            )
