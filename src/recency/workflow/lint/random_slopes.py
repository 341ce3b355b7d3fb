"""Effects of interest without a random slope by subject."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "Without slopes by subject, readers' differences in the effect count as evidence for it, and intervals are too narrow.",
    "reference": "Barr, Levy, Scheepers & Tily (2013), Journal of Memory and Language 68, 255-278",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield mixed designs with measures of interest that have no by-subject slope."""
    for name, design in plan.designs.items():
        if not design.is_mixed or "subject" not in design.formula.groups:
            continue
        if lacking := [measure for measure in design.interest if measure not in design.slopes]:
            yield Finding(
                name,
                "formula",
                f"{', '.join(lacking)} of interest without a slope by subject",
                f"write (1 + {' + '.join(lacking)} | subject)",
            )
