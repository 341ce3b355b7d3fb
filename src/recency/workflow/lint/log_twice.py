"""A logarithm stated twice: of the response, and by its family or column."""

import re
from collections.abc import Iterator

from recency import grids
from recency.reading import declared_columns
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "Two statements of one logarithm leave open on which scale effects are additive, and a logarithm of logarithms fits neither.",
    "reference": "Lo & Andrews (2015), Frontiers in Psychology 6, 1171",
}

ON_LOGS = ("lognormal", "shifted_lognormal", "gamma", "inverse_gaussian")
LOGS = re.compile(r"(?:^|[^a-z])(?:log|ln)(?:[^a-z]|$)|^log", re.IGNORECASE)


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs, also as varied by `sensitivity`, with two logarithms of the response."""
    for name, design in plan.designs.items():
        variants = [design.entry]
        for experiment in dict.fromkeys(experiment for experiment, *_ in design.uses):
            settings = grids.settings_of_design(plan.experiments[experiment])
            variants += [grids.varied_design(dict(design.entry), one) for one in settings]
        twice = [v for v in variants if v["response"] == "log" and v.get("family") == "lognormal"]
        if twice:
            yield Finding(
                name,
                "response",
                "`response: log` with `family: lognormal`, which is the normal distribution of the logarithm",
                "keep one of them: `response: raw` with this family",
            )
        if any(v["response"] == "log" or v.get("family") in ON_LOGS for v in variants):
            for _, dataset, measure in design.uses:
                column = declared_columns.mapped(plan.config["datasets"][dataset]).get(measure)
                if isinstance(column, str) and LOGS.search(column):
                    yield Finding(
                        name,
                        "response",
                        f"the logarithm of {dataset}.{measure}, whose column {column!r} seems to be one already",
                        "map the column of times, or write `response: raw` and `family: gaussian`",
                    )
