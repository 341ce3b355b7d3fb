"""Measures of a network's inside against loops over eager attention and states, window by window."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from inside_networks import (
    ALL,
    LAYERS,
    NETWORKS,
    SIZE,
    TEXTS,
    expected,
    network_of,
    row_value,
)

from pretrained import FOLDER, needs_pretrained
from recency.attention.biased import attach
from recency.networks import architectures
from recency.scoring import forward, inside, measures
from recency.scoring.surprisal import Model, score_words
from small_networks import MIX, NONE, TINY, byte_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer(TEXTS, 320)


def compare(got, wanted, atol=2e-4):
    assert set(wanted) <= set(got) and len(wanted) == len(got)
    pd.testing.assert_frame_equal(got[list(wanted)], wanted, atol=atol, rtol=1e-5)


@pytest.mark.parametrize("family", NETWORKS)
@pytest.mark.parametrize(("bos", "stride"), [(True, None), (False, 5)])
def test_against_loops_over_eager_attention_and_states(family, tokenizer, bos, stride, monkeypatch):
    monkeypatch.setattr(inside, "WEIGHTS_AT_ONCE", 3 * SIZE**2)  # heads in two parts
    network = network_of(family, tokenizer)
    got = score_words(TEXTS, Model(network, tokenizer), bos=bos, stride=stride, measures=ALL).table
    wanted = [expected(network, text, tokenizer, bos, stride or SIZE // 2) for text in TEXTS]
    wanted = pd.concat(wanted, ignore_index=True)
    compare(got, wanted)
    assert wanted.isna().any().any() != bos and (wanted.nunique() > 5).all()
    assert network.config._attn_implementation == "sdpa"


def test_the_last_layer_predicts_what_the_network_does(tokenizer):
    network = network_of("Llama", tokenizer)
    table = score_words(TEXTS, Model(network, tokenizer), measures=["layer_surprisal_l2"]).table
    assert (table["layer_surprisal_l2_bits"] == table["surprisal_bits"]).all()


def test_a_tokens_own_values_add_up_to_the_words(tokenizer):
    model = Model(network_of("GPT2", tokenizer), tokenizer)
    asked = ["attention_entropy_l1", "attention_mean_distance", "layer_surprisal_l1"]
    result = score_words(TEXTS, model, measures=asked, tokens=True, unit="nats")
    of_words = result.tokens.groupby(["item", "position"], sort=False)
    columns = ["attention_entropy_l1_nats", "layer_surprisal_l1_nats"]
    np.testing.assert_allclose(of_words[columns].sum().to_numpy(), result.table[columns], rtol=1e-9)
    means = of_words["attention_mean_distance"].mean().to_numpy()
    np.testing.assert_allclose(means, result.table["attention_mean_distance"], rtol=1e-9)


def test_biased_networks_as_their_own_weights_say(tokenizer):
    made = architectures.new(TINY | {"context": SIZE}, NONE, tokenizer.get_vocab_size(), 1).eval()
    attach(made, MIX)
    model = Model(made, tokenizer)
    got = score_words(
        "a long text of many words", model, measures=["attention_mean_distance"]
    ).table
    made.config._attn_implementation = "recency_weights"
    ids = [0, *tokenizer.encode("a long text of many words").ids]
    with torch.no_grad():
        weights = (
            made(torch.tensor([ids]), output_attentions=True).attentions[-1][0].mean(0).numpy()
        )
    rows = [
        sum(w * (at - key) for key, w in enumerate(weights[at][: at + 1])) for at in range(len(ids))
    ]
    firsts = np.cumsum([1, *got["tokens"]])
    wanted = [np.mean(rows[a:b]) for a, b in itertools.pairwise(firsts)]
    np.testing.assert_allclose(got["attention_mean_distance"], wanted, atol=1e-5)
    assert abs(np.array(rows[-4:]) - np.arange(len(ids))[-4:] / 2).max() > 0.1  # the bias matters


def test_batches_and_padding_do_not_matter(tokenizer, monkeypatch):
    model = Model(network_of("Llama", tokenizer), tokenizer)
    together = score_words(TEXTS, model, measures=ALL).table
    alone = pd.concat([score_words([text], model, measures=ALL).table for text in TEXTS])
    columns = list(together.columns.drop("word_id"))
    alone = alone[columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(together[columns], alone, atol=2e-4, rtol=0)
    fits = forward._fits
    monkeypatch.setattr(
        forward, "_fits", lambda model, batch: len(batch) == 1 and fits(model, batch)
    )
    halved = score_words(TEXTS, model, measures=ALL).table
    pd.testing.assert_frame_equal(halved, together, atol=2e-4, rtol=0)


def test_half_precision_is_near(tokenizer):
    network = network_of("Llama", tokenizer)
    exact = score_words(TEXTS, Model(network, tokenizer), measures=ALL).table
    for made in (network, network_of("Llama", tokenizer).bfloat16()):
        table = score_words(TEXTS, Model(made, tokenizer), measures=ALL, precision="bf16").table
        columns = measures.columns(ALL)
        apart = (table[columns] - exact[columns]).abs().max() / exact[columns].max()
        assert 0 < apart.max() < 0.02


def test_nothing_changes_without_them_and_short_contexts_go_with_them(tokenizer):
    model = Model(network_of("GPT2", tokenizer), tokenizer)
    before = score_words(TEXTS, model, measures=["entropy"], context=[2]).table
    both = score_words(TEXTS, model, measures=["entropy", *ALL], context=[2]).table
    after = score_words(TEXTS, model, measures=["entropy"], context=[2]).table
    pd.testing.assert_frame_equal(before, after, check_exact=True)
    pd.testing.assert_frame_equal(both[list(before)], before, atol=2e-4, rtol=0)
    alone = score_words(TEXTS, model, measures=ALL).table
    pd.testing.assert_frame_equal(both[list(alone)], alone, check_exact=True)


@pytest.mark.merge
def test_attention_is_of_one_layer_at_a_time(tokenizer):
    """No weights of an earlier layer are alive when a later layer's are made."""
    import gc
    import weakref

    network, alive, most = network_of("GPT2", tokenizer), [], []
    for block in network.transformer.h:

        def see(module, inputs, output):
            gc.collect()
            most.append(sum(reference() is not None for reference in alive))
            if output[1] is not None:
                alive.append(weakref.ref(output[1]))

        block.attn.register_forward_hook(see)
    score_words(TEXTS[:1], Model(network, tokenizer), measures=["attention_entropy_l1"])
    assert len(alive) >= 2 * LAYERS and max(most) == 0


@pytest.mark.merge
@needs_pretrained
def test_a_pretrained_network():
    """Measures of the inside of a real LM, against its own eager outputs."""
    network = transformers.AutoModelForCausalLM.from_pretrained(FOLDER).float().eval()
    fast = transformers.AutoTokenizer.from_pretrained(FOLDER)
    text = "The keys to the cabinet near the unforgettablest doors were on the table ."
    of_attention = {  # name → measure, layer, heads
        "attention_entropy_l3_h2": ("attention_entropy", 3, [1]),
        "attention_entropy_normalised": ("attention_entropy_normalised", 30, range(9)),
        "attention_distance_manhattan": ("attention_distance_manhattan", 30, range(9)),
        "attention_distance_earth_movers_l30_h9": ("attention_distance_earth_movers", 30, [8]),
        "attention_mean_distance_l1": ("attention_mean_distance", 1, range(9)),
        "attention_last_2": ("attention_last_2", 30, range(9)),
    }
    asked = [*of_attention, "state_change_l7", "layer_surprisal_l20", "layer_surprisal_l30"]
    table = score_words(text, network, fast, measures=asked).table
    tokens = score_words(text, network, fast, measures=asked, tokens=True).tokens
    ids = [network.config.bos_token_id, *tokens["token_id"]]
    assert fast.bos_token_id == ids[0] and (table["tokens"] > 1).any()
    network.set_attn_implementation("eager")
    with torch.no_grad():
        output = network(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
        lens = network.lm_head(network.model.norm(output.hidden_states[20][0])).log_softmax(-1)
    words = [-1, *tokens["position"]]
    states, places = output.hidden_states[7][0], range(len(ids) - 1)
    wanted = {
        "state_change_l7": (states[1:] - states[:-1]).norm(dim=-1).tolist(),
        "layer_surprisal_l20_bits": [-float(lens[at, ids[at + 1]]) / np.log(2) for at in places],
        "layer_surprisal_l30_bits": tokens["surprisal_bits"],
    }
    for name, (stem, layer, heads) in of_attention.items():
        weights = output.attentions[layer - 1][0].double().numpy()[list(heads)]
        wanted[measures.columns([name])[0]] = [
            np.mean(
                [
                    row_value(stem, w[at][: at + 1].tolist(), w[at - 1][:at].tolist(), words, at)
                    for w in weights
                ]
            )
            for at in range(1, len(ids))
        ]
    for column, rows in wanted.items():
        np.testing.assert_allclose(tokens[column], rows, rtol=2e-4, atol=2e-4, err_msg=column)
