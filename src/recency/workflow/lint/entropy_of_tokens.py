"""Entropy of the next token as a predictor."""

from collections.abc import Iterator

from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "The entropy of a word's first token and that of the word predict reading times differently.",
    "reference": "Clark, Oh & Schuler (2025), COLING; docs/surprisal.md",
}

OF_TOKENS = {"entropy", "entropy_reduction"}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs with the entropy of the next token, where the LMs have it."""
    for name, design in plan.designs.items():
        lms = dict.fromkeys(lm for experiment, *_ in design.uses for lm in plan.lms(experiment))
        given = {measure for lm in lms for measure in plan.settings(lm).get("measures") or ()}
        stems = {names.measure_of(names.split(n).stem) for n in names.used(design.formula)}
        if stems & given & OF_TOKENS:
            yield Finding(
                name,
                "formula",
                "`entropy` is of the next token, the first of a word",
                "use the measure `word_entropy`, which is of the next word",
            )
