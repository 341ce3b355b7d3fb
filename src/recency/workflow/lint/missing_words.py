"""Tables that may lack many words."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "lms",
    "why": "Words without surprisal are left out, so that the LM is judged on other words than the others.",
    "reference": "docs/surprisal.md",
}

MOST = 0.2


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield LMs of the run whose table may lack over a fifth of the words."""
    for name in plan.experiments:
        for lm in plan.members_of(name):
            missing = plan.config["lms"][lm].get("surprisals", {}).get("missing", 0)
            if missing > MOST:
                yield Finding(
                    lm,
                    "surprisals → missing",
                    f"up to {missing:.0%} of the words may lack surprisal",
                    f"complete the table, or compare on the words that all LMs have and write {MOST:g} or less",
                )
