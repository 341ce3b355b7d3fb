"""Windows that do not overlap."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan, contexts

RULE = {
    "table": "lms",
    "why": "With a stride of the window's size, the first words of every window are scored without their context.",
    "reference": "docs/surprisal.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield networks of the run whose stride is over three quarters of their window."""
    for name in plan.experiments:
        for lm in plan.members_of(name):
            window, stride = contexts(plan, lm), plan.settings(lm).get("stride")
            if window and stride and stride > 0.75 * window:
                yield Finding(
                    lm,
                    "stride",
                    f"windows of {window} tokens move by {stride}",
                    "write `stride: null`, half a window, or fewer tokens",
                )
