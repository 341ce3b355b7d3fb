"""Measures that networks lack are refused, and so are faulty lenses and measures of other packages."""

import re

import numpy as np
import pytest
import torch
import transformers
from inside_networks import SHAPE, TEXTS, network_of
from safetensors.torch import save_file

import additions
from project import ROOT
from recency.errors import InputError
from recency.scoring import measures
from recency.scoring.surprisal import Model, score_words
from small_networks import byte_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer(TEXTS, 320)


def test_a_tuned_lens_maps_states_before_the_norm(tokenizer, tmp_path):
    network = network_of("Llama", tokenizer)
    torch.manual_seed(3)
    maps = {"1.weight": torch.eye(32) + torch.randn(32, 32) / 9, "1.bias": torch.randn(32)}
    save_file(maps, tmp_path / "lens.safetensors")
    names = ["layer_surprisal_l1", "layer_surprisal_l2"]
    settings = {"measures": names, "tuned_lens": tmp_path / "lens.safetensors"}
    table = score_words("So it goes.", Model(network, tokenizer), **settings).table
    ids = [0, *tokenizer.encode("So it goes.").ids]
    with torch.no_grad():
        states = network(torch.tensor([ids]), output_hidden_states=True).hidden_states[1][0]
        mapped = network.model.norm(states @ maps["1.weight"].T + maps["1.bias"])
        logs = network.lm_head(mapped).log_softmax(-1)
    wanted = -sum(float(logs[at, ids[at + 1]]) for at in range(len(ids) - 1)) / np.log(2)
    assert np.isclose(table["layer_surprisal_l1_bits"].sum(), wanted, rtol=1e-5)
    assert (table["layer_surprisal_l2_bits"] == table["surprisal_bits"]).all()
    for name, faulty in {
        "has no 1.bias": {"1.weight": maps["1.weight"]},
        "is (31, 32)": maps | {"1.weight": torch.ones(31, 32)},
        "may only hold <layer>.weight": maps | {"layer.1.weight": torch.ones(32)},
        "not finite": maps | {"1.bias": torch.full((32,), torch.inf)},
    }.items():
        save_file(faulty, tmp_path / "lens.safetensors")
        with pytest.raises(InputError, match=name.replace("(", r"\(").replace(")", r"\)")):
            score_words("So it goes.", Model(network, tokenizer), **settings)
    with pytest.raises(InputError, match="no file of safetensors"):
        settings["tuned_lens"] = tmp_path / "none"
        score_words("So it goes.", Model(network, tokenizer), **settings)


REFUSED = {
    "attention_entropy_l3": "has 2 layers, no layer 3",
    "attention_entropy_l1_h5": "has 4 heads a layer, no head 5",
    "state_change_l9": "has 2 layers, no layer 9",
    "memory_gate_forget": "has no gates",
    "step_size": "no selective state-space layers",
    "ngram_explained": "needs an n-gram model: `ngram_lm`",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_network_of_attention_does_not_have_is_refused(tokenizer, name):
    with pytest.raises(InputError, match=REFUSED[name]):
        score_words("So it goes.", Model(network_of("GPT2", tokenizer), tokenizer), measures=name)


def test_masked_networks_have_none(tokenizer):
    config = transformers.BertConfig(vocab_size=320, **SHAPE)
    model = Model(transformers.BertForMaskedLM(config).eval(), tokenizer, masked=True)
    for name in ("attention_entropy", "layer_surprisal_l1", "state_change", "ngram_remainder"):
        with pytest.raises(InputError, match="is a measure of causal LMs"):
            measures.check_masked(measures.check(name))
            score_words("So it goes.", model, measures=name)


def test_the_documented_measure_of_another_package(tokenizer, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "internals.md").read_text()
    (text,) = re.findall(r'```python\n(""".*?)```', page, re.DOTALL)
    (tmp_path / "mymeasures").mkdir()
    (tmp_path / "mymeasures" / "__init__.py").write_text("")
    (tmp_path / "mymeasures" / "own.py").write_text(text)
    additions.provide(tmp_path, ["[recency.measures]", "attention_own = mymeasures.own"])
    monkeypatch.syspath_prepend(str(tmp_path))
    network = network_of("GPT2", tokenizer)
    settings = {"measures": ["attention_own_l1_h2"], "tokens": True}
    tokens = score_words("So it goes.", Model(network, tokenizer), **settings).tokens
    network.set_attn_implementation("eager")
    ids = [0, *tokens["token_id"]]
    with torch.no_grad():
        weights = network(torch.tensor([ids]), output_attentions=True).attentions[0][0, 1]
    np.testing.assert_allclose(tokens["attention_own_l1_h2"], weights.diagonal()[1:], rtol=1e-5)


def test_impossible_values_are_refused(tokenizer, monkeypatch):
    from recency.scoring.measures import attention_last

    model = Model(network_of("GPT2", tokenizer), tokenizer)
    for value in (1.5, float("nan")):
        monkeypatch.setattr(attention_last, "attention", lambda w, words, k, v=value: w.sum(-1) * v)
        with pytest.raises(InputError, match="outside the possible values"):
            score_words("So it goes.", model, measures="attention_last_2")
    monkeypatch.setattr(attention_last, "attention", lambda weights, words, k: weights)
    with pytest.raises(InputError, match="returns the shape"):
        score_words("So it goes.", model, measures="attention_last_2")
