"""A probability that is no number is refused where it is computed, whatever the LM."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM

import recency
from recency.errors import InputError
from recency.networks import self_test
from recency.scoring import ngram, results
from small_networks import TEXTS, byte_tokenizer

ARPA = """\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-1.2\t<unk>
-99\t<s>\t-0.3
-0.9\t</s>
-0.5\tthe\t-0.2
-0.7\tcat

\\2-grams:
-0.1\t<s> the
-0.2\tthe cat

\\end\\
"""
SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 64, "max_position_embeddings": 64, "vocab_size": 300}


def test_the_file_as_it_is(tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_text(ARPA)
    assert ngram.score(path, [["the", "cat"]])[0].log10 == [-0.1, -0.2]


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("-0.2\tthe cat", "nan\tthe cat", "line 14: 'nan\\\\tthe cat' is not `log10 probability"),
        ("-0.2\tthe cat", "-inf\tthe cat", "line 14: '-inf"),
        ("-0.2\tthe cat", "0.2\tthe cat", "line 14: '0.2"),
        ("the\t-0.2", "the\tinf", "line 9: .*the"),
        ("-0.2\tthe cat\n", "", "lists 1 2-grams, and its header states 2: it was cut"),
        ("ngram 2=2\n", "", "lists 2 2-grams, and its header states 0"),
        ("-0.7\tcat", "-0.5\tthe", "line 10: 'the' is listed twice"),
        ("\n\\end\\\n", "", "does not end with .end.: it was cut"),
    ],
)
def test_n_grams(tmp_path, old, new, match):
    path = tmp_path / "lm.arpa"
    path.write_text(ARPA.replace(old, new, 1))
    with pytest.raises(InputError, match=f"lm.arpa.*{match}"):
        ngram.score(path, [["the", "cat"]])


@pytest.mark.parametrize("field", ["E", "v"])
def test_a_cdlm(tmp_path, field):
    (tmp_path / "lm.arpa").write_text(ARPA)
    base = ngram.read_base(tmp_path / "lm.arpa")
    size = len(base.words)
    model = ngram.Model(base, np.ones((size, 2)), np.ones((size + 1, 2)), np.ones((1, 2, 2)))
    getattr(model, field)[:] = np.nan
    model.save(tmp_path / "lm")
    with pytest.raises(InputError, match="lm: 2 of 2 log-probabilities are NaN or infinite"):
        ngram.score(tmp_path / "lm", [["the", "cat"]])


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        ({"E": np.ones((4, 3))}, r"E has the shape \(4, 3\), and 4 words need \(4, 3\)|v has the"),
        ({"v": np.ones((4, 2))}, r"v has the shape \(4, 2\), and 4 words need \(5, 2\)"),
        ({"T": np.ones((1, 2, 3))}, "T has the shape"),
        ({"unigrams": np.ones(3)}, "unigrams has the shape"),
        ({"E_2": np.ones(3)}, "E_2 is missing, stored twice, or no part of a CDLM"),
        ({"nats_0": None}, "nats_0 is missing, stored twice, or no part of a CDLM"),
    ],
)
def test_arrays_of_a_cdlm(tmp_path, edit, match):
    (tmp_path / "lm.arpa").write_text(ARPA)
    base = ngram.read_base(tmp_path / "lm.arpa")
    size = len(base.words)
    ngram.Model(base, np.ones((size, 2)), np.ones((size + 1, 2)), np.ones((1, 2, 2))).save(
        tmp_path / "lm"
    )
    assert np.isfinite(ngram.score(tmp_path / "lm", [["the", "cat"]])[0].log10).all()
    with np.load(tmp_path / "lm") as file:
        arrays = dict(file) | edit
    arrays = {name: values for name, values in arrays.items() if values is not None}
    with (tmp_path / "lm").open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(InputError, match=f"lm: ({match})"):
        ngram.score(tmp_path / "lm", [["the", "cat"]])


def break_after(network, layer):
    """Let a network give NaN for texts longer than its test's."""

    def forward(module, inputs, output):
        return output * torch.nan if output.shape[-2] > self_test.TOKENS else output

    layer.register_forward_hook(forward)
    return network


def test_a_causal_network():
    network = LlamaForCausalLM(LlamaConfig(**SIZES)).eval()
    break_after(network, network.model.norm)
    with pytest.raises(InputError, match="LlamaForCausalLM: .* log-probabilities are NaN"):
        recency.surprisal(TEXTS, network, byte_tokenizer())


def test_a_masked_network():
    network = BertForMaskedLM(BertConfig(**SIZES)).eval()
    break_after(network, network.bert.encoder.layer[0].output.LayerNorm)
    tokenizer = byte_tokenizer()
    tokenizer.add_special_tokens(["[MASK]"])
    network.resize_token_embeddings(tokenizer.get_vocab_size())
    with pytest.raises(InputError, match="BertForMaskedLM: .* log-probabilities are NaN"):
        recency.surprisal(TEXTS, network, tokenizer)


def test_a_table_of_scores():
    words = pd.DataFrame({"word_id": [0, 1, 2]})
    none = np.full(3, np.nan)
    ledger = results.ledger(words.assign(item="a", word="x"), [])
    table = results.table(words, np.array([1.0, np.nan, 2.0]), none, np.ones(3), np.zeros(3))
    results.Result(table, ledger)  # a word without a value
    table.loc[1, "surprisal_bits"] = np.inf
    with pytest.raises(InputError, match="1 words have an infinite surprisal, word_id 1 first"):
        results.Result(table, ledger)
