"""One network under two names, or an LM listed twice."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan, identity

RULE = {
    "table": "experiments",
    "why": "Two entries that compute the same surprisal are one LM, which is ranked, tested and corrected for twice.",
    "reference": "docs/how_sure.md",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with LMs that have the same settings, and with an LM that is listed twice."""
    for name, experiment in plan.experiments.items():
        lms = experiment["lms"]
        for lm in dict.fromkeys(lm for lm in lms if lms.count(lm) > 1):
            yield Finding(name, "lms", f"{lm!r} is listed twice", "name it once")
        first: dict[str, str] = {}
        for lm in plan.lms(name):
            other = first.setdefault(identity(plan, lm), lm)
            if other != lm:
                yield Finding(
                    name,
                    "lms",
                    f"{lm!r} computes the same as {other!r}: no setting distinguishes them",
                    "remove one, or correct its settings",
                )
