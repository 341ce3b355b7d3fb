"""LMs of one table with surprisal in different units."""

import json
from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "lms",
    "why": "One table rarely has two units; a wrong one scales surprisal, and with it every effect in ms per bit.",
    "reference": "docs/surprisal.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield LMs of the run whose `unit` differs from that of another LM of the same table."""
    first: dict[str, tuple[str, str]] = {}
    for name in plan.experiments:
        for lm in plan.members_of(name):
            table = plan.config["lms"][lm].get("surprisals", {})
            if "unit" not in table or "probability" in table.get("columns", {}):
                continue
            kind = "logprob" if "logprob" in table.get("columns", {}) else "surprisal"
            key = json.dumps([table.get("table"), table.get("tables"), kind], sort_keys=True)
            other, unit = first.setdefault(key, (lm, table["unit"]))
            if unit != table["unit"]:
                yield Finding(
                    lm,
                    "surprisals → unit",
                    f"{table['unit']}, and {other!r} of the same table has {unit}",
                    "state the unit that the table's description gives",
                )
