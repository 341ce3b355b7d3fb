"""Networks with implausible shapes."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "architectures",
    "why": "A window of a few words is a limit on memory of its own, and dropout of most units leaves little to learn with.",
    "reference": "Kuribayashi, Oseki, Brassard & Inui (2022), EMNLP, 10421-10436",
}

LEAST_CONTEXT, MOST_DROPOUT = 32, 0.5


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield architectures of the run's trainings with a tiny window or much dropout."""
    for name in dict.fromkeys(plan.settings(root)["architecture"] for root in plan.trained):
        shape = plan.config["architectures"][name]
        if shape.get("context", LEAST_CONTEXT) < LEAST_CONTEXT:
            text = f"its window of {shape['context']} tokens is shorter than most sentences"
            yield Finding(name, "context", text, f"write at least {LEAST_CONTEXT}")
        for key in ("dropout", "attention_dropout"):
            if shape.get(key, 0) > MOST_DROPOUT:
                text = f"{shape[key]:.0%} of the units are dropped"
                yield Finding(name, key, text, f"write at most {MOST_DROPOUT:g}")
