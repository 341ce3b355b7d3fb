"""Effects of interest with an implausible power."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "Estimated powers of surprisal are near 1 or a little above; far from them, a few words decide the fit.",
    "reference": "Hoover, Sonderegger, Piantadosi & O'Donnell (2023), Open Mind 7, 350-391",
}

LIMITS = (0.25, 3)


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs with a power, stated or varied by `sensitivity`, outside the limits."""
    for name, design in plan.designs.items():
        powers = [design.entry.get("linking")]
        for experiment in dict.fromkeys(experiment for experiment, *_ in design.uses):
            powers += plan.experiments[experiment].get("sensitivity", {}).get("linking", [])
        for power in (p for p in powers if isinstance(p, int | float)):
            if not LIMITS[0] <= power <= LIMITS[1]:
                yield Finding(
                    name,
                    "linking",
                    f"the power {power:g} is outside {LIMITS[0]:g} to {LIMITS[1]:g}",
                    "write linear, log, or a power near 1",
                )
