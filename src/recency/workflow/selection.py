"""Checks of what experiments select: that it exists and goes together."""

from __future__ import annotations

from recency import config as configuration
from recency.evaluations import registry
from recency.workflow import lm_checks


def experiment_problems(config: dict, name: str, known) -> list[str]:
    """List what an experiment selects that does not exist or does not go together."""
    problems, experiment = [], config["experiments"][name]
    where = f"experiments → {name}"
    for lm in experiment["lms"]:
        known(f"{where} → lms", lm, "lms")
    known(f"{where} → baseline", experiment["baseline"], "lms")
    for pair in experiment.get("compare", []):
        for lm in pair:
            if known(f"{where} → compare", lm, "lms") and lm not in experiment["lms"]:
                problems.append(f"{where} → compare: {lm!r} is not among the experiment's `lms`")
    if experiment["baseline"] not in experiment["lms"]:
        problems.append(f"{where} → baseline: not among the experiment's `lms`")
    for key, kind in registry.data().items():
        if key in experiment:
            known(f"{where} → {key}", experiment[key], kind.table)
    problems += configuration.response_problems(config, where, experiment, known)
    problems += lm_checks.experiment_problems(config, name)
    for evaluation in registry.evaluations().values():
        problems += evaluation.problems(config, name, known) if evaluation.problems else []
    return problems
