"""Names of measures: declared once, documented, and read in one spelling."""

import re

from project import ROOT

from recency.scoring import measures


def test_each_measure_is_documented():
    pages = [(ROOT / "docs" / f"{name}.md").read_text() for name in ("surprisal", "internals")]
    table = re.sub("^([|] `[^|]*)`, `", r"\1`\n| `", "".join(pages), flags=re.MULTILINE)
    named = [measure.name for measure in measures.declared().values()]
    assert len(named) >= 7 and [name for name in named if f"| `{name}" not in table] == []


def test_names_have_one_spelling_and_their_examples_are_names():
    assert measures.check(["renyi_0.50", "renyi_1.0", "top_5"]).measures == (
        "renyi_0.5",
        "renyi_1",
        "top_5",
    )
    assert measures.check(["renyi_1", "entropy", "log_rank"]).statistics == ("entropy", "rank")
    assert measures.check(measures.examples()).measures == tuple(measures.examples())
    for name in (*measures.examples(), "renyi_inf", "top_12"):
        assert re.fullmatch(measures.regex(), name)
    assert not re.fullmatch(measures.regex(), "renyi_") and not re.fullmatch(measures.regex(), "to")
