"""Interactions without their main effects."""

from collections.abc import Iterator

from crosslmm.formula import factors
from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "Without both main effects, a product of predictors depends on where their zeros are.",
    "reference": "Nelder (1977), Journal of the Royal Statistical Society A 140, 48-77",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs with a product of numeric predictors that lacks one of them."""
    numeric = {*names.PREDICTORS, *names.EXTRA}
    for name, design in plan.designs.items():
        fixed = {frozenset(factors(column)) for column in design.formula.fixed}
        for column in design.formula.fixed:
            parts = factors(column)
            known = all(p in numeric or names.split(p).of_lm for p in parts)
            lacking = [part for part in parts if frozenset([part]) not in fixed]
            if len(parts) > 1 and known and lacking:
                yield Finding(
                    name,
                    "formula",
                    f"{column} without {' and '.join(lacking)}",
                    f"write {'*'.join(parts)}",
                )
