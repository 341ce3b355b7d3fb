"""Measures of a network's inside that an LM does not have are refused when the config is read."""

import pytest
import yaml

from project import SCHEMA, load, merged
from recency.errors import InputError
from recency.workflow.config import checks, lm_checks
from recency.workflow.plan.study import Study

OPEN = ("config/open.yaml",)
REFUSED = {
    (): {
        "lms: {dVM-TI: {measures: [attention_entropy_l3]}}": (
            "lms → dVM-TI → measures: measure 'attention_entropy_l3': architectures → pythia-2-4-256 "
            "has 2 layers, no layer 3"
        ),
        "lms: {dVM-TI: {measures: [attention_last_4_l2_h5]}}": "has 4 heads a layer, no head 5",
        "lms: {dVM-TI: {measures: [memory_gate_forget]}}": "pythia-2-4-256 has no gates",
        "lms: {dVM-TI: {measures: [step_size_l1]}}": "has no selective state-space layers",
        "lms: {dVM-TI: {measures: [layer_surprisal]}}": "its name needs a layer: layer_surprisal_l<layer>",
        "scales: {paper: {measures: [state_change_l5]}}": "more) → measures: measure 'state_change_l5'",
        "lms: {dVM-TI: {measures: [ngram_explained]}}": (
            "lms → dVM-TI → measures: 'ngram_explained' needs an n-gram model; name an n-gram LM"
        ),
        "lms: {dVM-TI: {measures: [ngram_explained], ngram_lm: Pythia}}": (
            "lms → dVM-TI → ngram_lm: 'Pythia' is a network; name an n-gram LM"
        ),
        "lms: {dVM-TI: {measures: [ngram_explained], ngram_lm: none}}": "no lm is called 'none'",
        "lms: {dVM-TI: {measures: [layer_surprisal_l1], scoring: {tuned_lens: none.safetensors}}}": (
            "lms → dVM-TI → scoring → tuned_lens: there is no file 'none.safetensors'"
        ),
        "lms: {MLM-baseline: {measures: [attention_entropy]}}": (
            "lms → MLM-baseline → measures: 'attention_entropy' is a measure of causal LMs"
        ),
    },
    OPEN: {
        "lms: {LSTM: {measures: [attention_entropy]}}": (
            "lms → LSTM → measures: measure 'attention_entropy': the recurrent network of memory 'lstm' "
            "has no attention"
        ),
        "lms: {LSTM: {measures: [memory_gate_forgett]}}": "no gate 'forgett'; did you mean 'forget'?",
        "lms: {GRU: {measures: [memory_gate_update_l2]}}": "has 1 layers, no layer 2",
        "lms: {state-space: {measures: [memory_gate_forget]}}": "has no gates",
    },
}
CASES = [(names, overlay) for names, listed in REFUSED.items() for overlay in listed]


@pytest.mark.merge
@pytest.mark.parametrize(("names", "overlay"), CASES, ids=[overlay for _, overlay in CASES])
def test_what_an_lm_does_not_have_is_refused(names, overlay):
    config = merged(load(*names), yaml.safe_load(overlay))
    with pytest.raises(InputError) as error:
        checks.check(config, SCHEMA)
    lines = str(error.value).splitlines()[1:]
    assert any(REFUSED[names][overlay] in line for line in lines), lines


def test_what_an_lm_has_is_taken():
    asked = """
lms:
  LSTM: {measures: [memory_gate_forget, state_change_l0, ngram_explained], ngram_lm: KN-3}
  state-space: {measures: [step_size, ngram_remainder], ngram_lm: KN-2}
"""
    config = merged(load(*OPEN), yaml.safe_load(asked))
    config["memories"][config["lms"]["state-space"]["memory"]]["selective"] = True
    checks.check(config, SCHEMA)
    study = Study(config, SCHEMA.parent)
    assert study.ngram_reference("LSTM") == ["<results>/lms/KN-3/ngrams.arpa"]
    assert study.ngram_reading("LSTM") == {"bos": True, "context": "item", "text_rule": "displayed"}
    assert study.ngram_reference("GRU") == study.tuned_lens("GRU") == []


def test_the_shape_of_an_architecture_is_that_of_its_network():
    from recency.networks import architectures
    from recency.scoring.inside import parts_of

    config = load(*OPEN)
    for lm in ("LSTM", "state-space"):
        named = config["lms"][lm]["architecture"]
        memory = config["memories"][config["lms"][lm]["memory"]]
        entry = config["architectures"][named]
        known = lm_checks.shape_of(named, entry, memory)
        made = architectures.new(entry | {"memory": memory}, {"form": "none"}, 50, 1)
        assert parts_of(made).shape == known
    entry = config["architectures"]["pythia-2-4-256"]
    shape = parts_of(architectures.new(entry, {"form": "none"}, 50, 1)).shape
    known = lm_checks.shape_of("pythia-2-4-256", entry, None)
    assert (shape.layers, shape.heads, shape.attending) == (
        known.layers,
        known.heads,
        known.attending,
    )
