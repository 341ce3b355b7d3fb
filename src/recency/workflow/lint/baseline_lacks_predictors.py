"""A baseline model without predictors of the LM that are not of interest."""

from collections.abc import Iterator

from recency.regression import designs
from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "With `base: all`, the baseline model lacks all predictors of the LM, so that ΔLogLik includes effects that `of_interest` does not name.",
    "reference": "docs/regression.md, Baseline models",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs with `base: all` whose baseline lacks more than the effects of interest."""
    for name, design in plan.designs.items():
        if designs.bases(design.entry)[0] != "all":
            continue
        others = sorted({*names.lm_columns(design.formula, {})} - {*design.interest})
        if others:
            yield Finding(
                name,
                "of_interest",
                f"the baseline model also lacks {', '.join(others)}, which `of_interest` does not name",
                f"write `{others[0]}[<lm>]` in the formula to keep it, or name it in `of_interest`",
            )
