"""Surprisal without length or frequency as a control."""

from collections.abc import Iterator

from recency.regression import predictor_names as names
from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "Length and frequency correlate with surprisal and slow reading themselves, so surprisal takes credit for them.",
    "reference": "Rayner (1998), Psychological Bulletin 124, 372-422",
}

LENGTHS = ("length", "given_length", "letters", "characters", "nchar")


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs with surprisal of interest that lack one of the two controls."""
    for name, design in plan.designs.items():
        if not any(names.measure_of(names.split(n).stem) in SURPRISAL for n in design.interest):
            continue
        stems = [names.split(used).stem for used in names.used(design.formula)]
        lacking = [] if any(stem in LENGTHS or "length" in stem for stem in stems) else ["length"]
        frequent = any(stem == "unigram" or "freq" in stem for stem in stems)
        lacking += [] if frequent else ["unigram"]
        if lacking:
            yield Finding(
                name,
                "formula",
                f"surprisal without {' or '.join('frequency' if c == 'unigram' else c for c in lacking)}",
                f"add {' + '.join(lacking)}",
            )


SURPRISAL = ("surprisal", "corrected")
