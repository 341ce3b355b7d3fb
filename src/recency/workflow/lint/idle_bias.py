"""Biases that change no attention score."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan, is_idle

RULE = {
    "table": "lms",
    "why": "An LM whose bias has no effect is the LM without it, under another name.",
    "reference": "docs/biases.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield LMs of the run whose bias has no effect at its parameters."""
    for name in plan.experiments:
        for lm in plan.lms(name):
            if (
                plan.is_biased(lm)
                and "languages" not in plan.config["lms"][lm]
                and is_idle(plan, lm)
            ):
                yield Finding(
                    lm,
                    "bias",
                    f"its bias, of the form {plan.settings(lm)['bias']['form']}, changes nothing",
                    "correct its parameters, or remove the LM",
                )
