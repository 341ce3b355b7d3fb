"""A comparison of biases between LMs that were trained differently."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan, differences

RULE = {
    "table": "experiments",
    "why": "Training text, vocabulary, amount and recipe affect how well surprisal predicts reading times, like the bias itself.",
    "reference": "Oh & Schuler (2023), Findings of EMNLP, 1915-1921",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments about biases with LMs that differ from the baseline in another respect."""
    for name, experiment in plan.experiments.items():
        baseline = experiment["baseline"]
        if not any(plan.is_biased(lm) for lm in plan.lms(name)):
            continue
        different: dict[tuple[str, ...], list[str]] = {}
        for lm in plan.lms(name):
            if kinds := differences(plan, lm, baseline):
                different.setdefault(tuple(kinds), []).append(lm)
        for kinds, lms in different.items():
            more = f" (and {len(lms) - 1} more)" if lms[1:] else ""
            yield Finding(
                name,
                "lms",
                f"{lms[0]!r}{more} differs from the baseline {baseline!r} in {' and '.join(kinds)} too",
                "use a baseline that differs in the bias alone, or a separate experiment",
            )
