"""Random slopes of predictors that are no fixed effect."""

from collections.abc import Iterator

from crosslmm.formula import INTERCEPT, factors
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "A random slope without the fixed effect assumes that the mean effect is 0.",
    "reference": "Barr, Levy, Scheepers & Tily (2013), Journal of Memory and Language 68, 255-278",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield mixed designs with a slope that is no fixed effect."""
    for name, design in plan.designs.items():
        if not design.is_mixed:
            continue
        fixed = {frozenset(factors(column)) for column in design.formula.fixed}
        for term in design.formula.random:
            for column in term.columns:
                if column != INTERCEPT and frozenset(factors(column)) not in fixed:
                    yield Finding(
                        name,
                        "formula",
                        f"{column} has a slope by {term.group} and no fixed effect",
                        f"add {column} as a fixed effect, or remove the slope",
                    )
