"""Claims about biases in training from one training each."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "experiments",
    "why": "Two trainings that differ in their seed alone differ too; with one of each, this looks like an effect of the bias.",
    "reference": "Sellam et al. (2022), The MultiBERTs, ICLR",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments that compare separately trained networks with one seed."""
    for name, experiment in plan.experiments.items():
        if len(plan.seeds(name)) > 1 or not experiment.get("responses"):
            continue
        baseline = [plan.trained_as(m) for m in plan.members(experiment["baseline"])]
        for lm in plan.lms(name):
            roots = [plan.trained_as(member) for member in plan.members(lm)]
            others = [root for root in roots if root in plan.trained and root not in baseline]
            if others and plan.is_biased(lm) and plan.settings(lm)["applied"] == "training":
                yield Finding(
                    name,
                    "seeds",
                    "biases in training are compared by one training of each LM",
                    "write `seeds: [1, 2, 3]`, which trains each LM three times",
                )
                break
