"""Filters that remove ordinary responses."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan
from recency.workflow.lint.one_sided_filter import limits

RULE = {
    "table": "datasets",
    "why": "Limits within the bulk of the times truncate the effects that are tested.",
    "reference": "Ratcliff (1993), Psychological Bulletin 114, 510-532",
}

#: Smallest upper and largest lower limit that leave ordinary times, ms.
SHORTEST_MAXIMUM, LONGEST_MINIMUM = 800, 200


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield datasets whose filters limit times below 800 ms, or above 200 ms."""
    for name, dataset in plan.datasets.items():
        asked = {m for d in plan.designs.values() for _, used, m in d.uses if used == name}
        for measure in sorted(asked):
            low, high = limits(dataset, measure)
            if low > LONGEST_MINIMUM or high < SHORTEST_MAXIMUM:
                yield Finding(
                    name,
                    f"measures → {measure} → filters",
                    f"they keep times from {low:g} to {high:g} ms alone",
                    "set limits for outliers, such as 100 < time_ms < 3000",
                )
