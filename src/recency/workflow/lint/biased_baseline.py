"""Biases that are compared with a bias."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "The effect of a bias is the difference from an LM without one; between two biases, a difference may be of either.",
    "reference": "Clark, Oh & Schuler (2025), COLING",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments whose baseline LM has a bias, or whose biases have no unbiased LM."""
    for name, experiment in plan.experiments.items():
        lms = plan.lms(name)
        if len(lms) < 2 or not plan.is_biased(experiment["baseline"]):
            continue
        unbiased = [lm for lm in lms if not plan.is_biased(lm)]
        way = (
            f"write `baseline: {unbiased[0]}`" if unbiased else "add the LM without a bias to `lms`"
        )
        yield Finding(
            name,
            "baseline",
            f"{experiment['baseline']!r} has a bias itself",
            f"{way}, and name it as the baseline" if not unbiased else way,
        )
