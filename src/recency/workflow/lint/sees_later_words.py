"""Masked LMs that see the words after the scored one."""

from collections.abc import Iterator

from recency import config as configuration
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "A pseudo-log-likelihood given later words is no expectation that a reader could have had.",
    "reference": "Salazar, Liang, Nguyen & Kirchhoff (2020), ACL, 2699-2712",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments on reading times with masked LMs scored with `future: seen`."""
    for name, experiment in plan.experiments.items():
        if not experiment.get("responses"):
            continue
        seeing = [
            lm
            for lm in plan.lms(name)
            if plan.settings(lm).get("scoring", {}).get("future", "seen") == "seen"
            and any(configuration.is_masked(plan.config, m) for m in plan.members(lm))
        ]
        if seeing:
            more = f" (and {len(seeing) - 1} more)" if seeing[1:] else ""
            yield Finding(
                name,
                "lms",
                f"{seeing[0]!r}{more} predicts a word from the words after it too",
                "set `scoring: {future: removed}` for reading times",
            )
