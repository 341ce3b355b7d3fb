"""Filters that cut one tail of the times."""

import math
import re
from collections.abc import Iterator, Mapping

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "datasets",
    "why": "Removing only slow, or only fast, responses shifts means and differences of conditions.",
    "reference": "Ratcliff (1993), Psychological Bulletin 114, 510-532",
}

NUMBER = r"(\d+(?:\.\d+)?)"
HIGH = re.compile(rf"time_ms\s*<=?\s*{NUMBER}|{NUMBER}\s*>=?\s*time_ms")
LOW = re.compile(rf"time_ms\s*>=?\s*{NUMBER}|{NUMBER}\s*<=?\s*time_ms")


def limits(dataset: Mapping, measure: str) -> tuple[float, float]:
    """Return the limits of a measure's times by its filters, ms; 0 and infinity without one."""
    steps = dataset["measures"][measure]["filters"]
    text = " and ".join(dataset.get("filters", {}).get(step, "") for step in steps)
    ends = [[float(a or b) for a, b in end.findall(text)] for end in (LOW, HIGH)]
    return max(ends[0], default=0), min(ends[1], default=math.inf)


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield self-paced reading and mazes whose filters limit times on one side."""
    for name, dataset in plan.datasets.items():
        asked = {m for d in plan.designs.values() for _, used, m in d.uses if used == name}
        for measure in sorted(asked):
            if plan.task(name, measure) not in ("self_paced", "maze"):
                continue  # short fixations are removed, and no reader pauses within one
            low, high = limits(dataset, measure)
            if (low > 0) != (high < math.inf):
                yield Finding(
                    name,
                    f"measures → {measure} → filters",
                    f"they remove {'fast' if low > 0 else 'slow'} responses alone",
                    "set both limits, such as 100 < time_ms < 3000, or none",
                )
