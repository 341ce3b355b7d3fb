"""Studies of power that cannot show it."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "power",
    "why": "With fewer than 20 studies the estimated power is uncertain by over ten points, and LMs that are equally close have none.",
    "reference": "Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102",
}

FEWEST = 20


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield studies of power with few repeats, or without a difference."""
    for name, study in plan.config.get("power", {}).items():
        repeats, close = study.get("repeats", FEWEST), study["closeness"]
        if repeats < FEWEST:
            yield Finding(name, "repeats", f"{repeats} studies", f"write at least {FEWEST}")
        if close["a"] <= close["b"]:
            text = f"the closer LM, a, has {close['a']:g}, and b {close['b']:g}"
            yield Finding(name, "closeness", text, "write a above b")
