"""Names of measures: declared once, documented, and read in one spelling."""

import re

import pytest

from project import ROOT
from recency.errors import InputError
from recency.regression import predictor_names
from recency.scoring import measures


def test_each_measure_is_documented():
    pages = [(ROOT / "docs" / f"{name}.md").read_text() for name in ("surprisal", "internals")]
    table = re.sub("^([|] `[^|]*)`, `", r"\1`\n| `", "".join(pages), flags=re.MULTILINE)
    named = [measure.name for measure in measures.declared().values()]
    assert len(named) >= 7 and [name for name in named if f"| `{name}" not in table] == []


REFUSED = {
    "attention_entropy_l0": "there is no layer 0; they are numbered from 1",
    "attention_entropy_l02": "without leading zeros",
    "attention_entropy_l2_h0": "there is no head 0; heads are numbered from 1",
    "attention_last_0_l2": "takes a whole number, 1 or more",
    "attention_last": "did you mean 'attention_last_<k>",
    "layer_surprisal": "its name needs a layer: layer_surprisal_l<layer>",
    "state_change_l1_h1": "it is defined for layers, not for heads",
    "memory_gate_forget_h2": "takes a name in small letters",
    "entropy_l2": "did you mean 'entropy'",
}


def test_a_layer_and_a_head_end_a_name():
    taken = ["attention_last_4_l2_h1", "attention_entropy_l12", "state_change_l0", "state_change"]
    taken += ["layer_surprisal_l0", "memory_gate_update_l2", "attention_entropy_normalised_l1_h2"]
    assert measures.check(taken).measures == tuple(taken)
    for name in taken:
        assert re.fullmatch(measures.regex(), name) and predictor_names.is_measure(name)
        (column,) = measures.columns([name])
        shifted = predictor_names.split(f"previous2_{column}")
        assert (shifted.stem, shifted.shift, shifted.of_lm) == (column, -2, True)
        assert predictor_names.measure_of(column) == name
    for name, message in REFUSED.items():
        with pytest.raises(InputError, match=message):
            measures.check([name])


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
