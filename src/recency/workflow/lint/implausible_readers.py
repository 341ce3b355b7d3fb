"""Simulated readers unlike real ones."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "datasets",
    "why": "An analysis that recovers effects of implausible size, or without noise, may not recover those of real readers.",
    "reference": "Smith & Levy (2013), Cognition 128, 302-319",
}

#: Effect or noise → least and largest plausible value, ms.
LIMITS = {"intercept": (100, 2000), "surprisal": (-5, 30), "previous_surprisal": (-5, 30)}
NOISE = (10, 1000)
#: Probability → its largest plausible value.
SHARES = {"slips": 0.05, "lapses": 0.05, "wrong": 0.4}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield simulated readers with implausible effects or residuals."""
    for name, dataset in plan.datasets.items():
        readers = dataset.get("simulate", {}).get("readers")
        if readers is None:
            continue
        stated = {
            f"coefficients → {k}": (v, LIMITS[k])
            for k, v in readers["coefficients"].items()
            if k in LIMITS
        }
        stated["residual_sd"] = (readers["residual_sd"], NOISE)
        for key, (value, (low, high)) in stated.items():
            if not low <= value <= high:
                yield Finding(
                    name,
                    f"simulate → readers → {key}",
                    f"{value:g} ms is outside {low:g} to {high:g} ms",
                    "published effects are about 4 ms a bit, and residuals about 100 ms",
                )
        for key, most in SHARES.items():
            if readers.get(key, 0) > most:
                yield Finding(
                    name,
                    f"simulate → readers → {key}",
                    f"{readers[key]:.0%} is above {most:.0%}",
                    "such readers would be excluded",
                )
