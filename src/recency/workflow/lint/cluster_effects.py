"""Intervals and tests by a unit without a random effect."""

from collections.abc import Iterator

from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "Intervals and tests resample subjects and sentences; without a random effect of the unit, the fitted model contradicts them.",
    "reference": "Baayen, Davidson & Bates (2008), Journal of Memory and Language 59, 390-412",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs of single responses without a random effect of subjects, or of texts."""
    for name, design in plan.designs.items():
        if design.entry["engine"] == "ols":  # of means over subjects
            continue
        groups = {part for group in names.grouping(design.formula) for part in group.split(":")}
        lacking = [] if "subject" in groups else ["subject"]
        lacking += [] if groups - {"subject"} else ["sentence"]
        if lacking:
            terms = " + ".join(f"(1 | {unit})" for unit in lacking)
            yield Finding(
                name,
                "formula",
                f"intervals and tests are by {' and by '.join(lacking)}, of which it has no random effect",
                f"add {terms}",
            )
