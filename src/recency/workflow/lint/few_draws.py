"""Too few, or needlessly many, draws and resamples."""

from collections.abc import Iterator, Mapping

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "The ends of a 95 % interval are among the outermost draws: fewer than 100 leave them to chance, and over 20,000 add nothing.",
    "reference": "Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 19",
}

#: Keys of an experiment → least and largest plausible number.
LIMITS = {
    ("draws",): (100, 20_000),
    ("measured_memory", "replacements"): (20, 20_000),
    ("context_information", "words"): (100, 20_000),
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with implausible numbers of draws or resamples."""
    for name, experiment in plan.experiments.items():
        for keys, (low, high) in LIMITS.items():
            value: object = experiment
            for key in keys:
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, int) and not low <= value <= high:
                yield Finding(
                    name,
                    " → ".join(keys),
                    f"{value:,} is outside {low} to {high:,}",
                    "leave it out for the default",
                )
