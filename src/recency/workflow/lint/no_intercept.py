"""Formulas without a fixed or random intercept."""

from collections.abc import Iterator

from crosslmm.formula import INTERCEPT
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "Without an intercept, slopes take over the differences of means, and depend on where predictors are 0.",
    "reference": "Barr, Levy, Scheepers & Tily (2013), Journal of Memory and Language 68, 255-278",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs without an intercept, and groups that have slopes alone."""
    for name, design in plan.designs.items():
        if INTERCEPT not in design.formula.fixed:
            yield Finding(name, "formula", "no intercept", "remove `0 +` or `- 1`")
        terms = getattr(design.formula, "random", ())
        groups = {term.group for term in terms if INTERCEPT in term.columns}
        for group in dict.fromkeys(term.group for term in terms if term.group not in groups):
            text = f"slopes by {group} without an intercept by {group}"
            yield Finding(name, "formula", text, f"write (1 + … | {group})")
