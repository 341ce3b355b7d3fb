"""Filters that cut one tail of the times."""

import re
from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "datasets",
    "why": "Removing only slow, or only fast, responses shifts means and differences of conditions.",
    "reference": "Ratcliff (1993), Psychological Bulletin 114, 510-532",
}

HIGH = re.compile(r"time_ms\s*<=?\s*[\d.]|[\d.]\s*>=?\s*time_ms")
LOW = re.compile(r"time_ms\s*>=?\s*([\d.]+)|([\d.]+)\s*<=?\s*time_ms")


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield datasets of self-paced reading or mazes whose filters limit times on one side."""
    for name, dataset in plan.datasets.items():
        asked = {
            measure for d in plan.designs.values() for _, used, measure in d.uses if used == name
        }
        for measure in sorted(asked):
            if plan.task(name, measure) not in ("self_paced", "maze"):
                continue  # short fixations are removed, and no reader pauses within one
            steps = dataset["measures"][measure]["filters"]
            text = " and ".join(dataset.get("filters", {}).get(step, "") for step in steps)
            lows = [float(a or b) for a, b in LOW.findall(text)]
            is_low, is_high = any(low > 0 for low in lows), HIGH.search(text) is not None
            if is_low != is_high:
                side = "slow" if is_high else "fast"
                yield Finding(
                    name,
                    f"measures → {measure} → filters",
                    f"they remove {side} responses alone",
                    "set both limits, such as 100 < time_ms < 3000, or none",
                )
