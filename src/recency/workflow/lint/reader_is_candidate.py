"""Simulated readers whose LM is one of those compared."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan, identity

RULE = {
    "table": "experiments",
    "why": "The LM that made the reading times predicts them best by construction.",
    "reference": "Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with simulated readers and an LM that computes the same as theirs."""
    for name in plan.experiments:
        for dataset in dict.fromkeys(response["dataset"] for response in plan.responses(name)):
            simulate = plan.config["datasets"][dataset].get("simulate")
            if simulate is None:
                continue
            reader = simulate["reader"]
            made_by = {reader, plan.trained_as(reader)}
            for lm in plan.lms(name):
                same = lm in made_by or identity(plan, lm) == identity(plan, reader)
                if same or plan.trained_as(lm) in made_by:
                    yield Finding(
                        name,
                        "lms",
                        f"{lm!r} is, or has the weights of, {reader!r}, the LM of the readers of {dataset}",
                        "remove it, or train a separate LM for the readers",
                    )
