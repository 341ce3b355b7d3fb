"""LMs that are compared, and read texts in different ways."""

from collections.abc import Iterator

from recency import config as configuration
from recency.workflow.lint import Finding, Plan, contexts

RULE = {
    "table": "experiments",
    "why": "Windows, and whether a text begins with a token of its own, affect surprisal like a limit on memory.",
    "reference": "Kuribayashi, Oseki, Brassard & Inui (2022), EMNLP, 10421-10436",
}

#: Settings of `scoring` that change surprisal, but for `future`, which experiments compare on purpose.
AFFECTING = ("correction", "first_word", "leading_space", "metric")


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield experiments whose networks differ in window, stride or begin token."""
    for name in plan.experiments:
        networks = [
            member
            for lm in plan.lms(name)
            for member in plan.members(lm)
            if configuration.kind_of(plan.settings(member)) == "network"
        ]
        ways = {
            "window": lambda lm: contexts(plan, lm),
            "stride": lambda lm: plan.settings(lm).get("stride"),
            "scoring": lambda lm: {
                key: value
                for key, value in plan.settings(lm).get("scoring", {}).items()
                if key in AFFECTING
            },
            "bos": lambda lm: bool(plan.settings(lm).get("bos", True)),
        }
        for key, way in ways.items():
            values = {lm: way(lm) for lm in networks}
            known = {
                lm: value for lm, value in values.items() if key == "stride" or value is not None
            }
            (first, *others) = known.items() if known else ((None, None),)
            other = next((item for item in others if item[1] != first[1]), None)
            if other is not None:
                lm, value = other
                yield Finding(
                    name,
                    "lms",
                    f"{first[0]!r} has the {key} {first[1]}, and {lm!r} {value}",
                    "give all of them the same, or compare the settings by `sensitivity`",
                )
