"""Word entropy against all strings of a small vocabulary, a Markov chain's closed form, and seeds."""

import numpy as np
import pytest
import torch
import word_entropy_truth as truth
from small_networks import MIX, NONE
from torch import nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import CausalLMOutput

import recency
from recency import attention
from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import next_words, word_entropy_settings
from recency.scoring.surprisal import Model, score_words

LONGEST = 4
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAMA = SIZES | {"intermediate_size": 64, "num_key_value_heads": 2}
NEOX = SIZES | {"intermediate_size": 64}
PRIMACY = {"form": "primacy_recency"}
LSTM = {"family": "recurrent", "layers": 2, "embedding": 16, "width": 16}
PAIR = ["word_entropy", "word_entropy_reduction"]


def network_of(name):
    """Return a random network, its logits made less equal."""
    torch.manual_seed(3)
    about = {"vocab_size": len(truth.ENTRIES), "bos_token_id": 0, "eos_token_id": 0}
    if name in ("gpt2", "gpt2+window"):
        made = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=32, **about))
        if name != "gpt2":
            attention.attach(made.eval(), attention.bias("window", width=3))
    elif name == "llama":
        made = LlamaForCausalLM(LlamaConfig(max_position_embeddings=32, **LLAMA, **about))
    elif name == "mistral":
        window = {"sliding_window": 4, "max_position_embeddings": 32}
        made = MistralForCausalLM(MistralConfig(**LLAMA, **window, **about))
    elif name == "gpt_neo":
        shape = {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]}
        made = GPTNeoForCausalLM(GPTNeoConfig(max_position_embeddings=32, window_size=4, **shape, **about))
    elif name in ("lstm", "fofe"):
        memory = {"lstm": {"form": "lstm"}, "fofe": {"form": "fofe", "decay": 0.7}}[name]
        made = architectures.new(LSTM | {"memory": memory}, NONE, len(truth.ENTRIES), 1)
    else:
        made = GPTNeoXForCausalLM(GPTNeoXConfig(max_position_embeddings=32, **NEOX, **about))
        if name != "neox":
            attention.attach(made.eval(), {"alibi": MIX, "primacy": PRIMACY}[name])
    with torch.no_grad():
        made.get_output_embeddings().weight *= 1.0 if name in ("lstm", "fofe") else 12.0
    return made.eval()


#: Network → whether its attention runs in branches.
NETWORKS = {
    "gpt2": True, "llama": True, "neox": True, "alibi": True, "gpt2+window": True, "mistral": True,
    "primacy": False, "gpt_neo": False, "lstm": False, "fofe": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer():
    return truth.tokenizer()


def compare(network, tokenizer, **settings):
    """Return the table of the texts, and the true entropies before and after each word."""
    settings = {"longest": LONGEST} | settings
    table = score_words(
        truth.TEXTS, Model(network, tokenizer), measures=PAIR, word_entropy=settings
    ).table
    with_end = settings.get("end_of_text", False)
    values = [
        truth.expected(network, text, tokenizer, LONGEST, with_end) for text in truth.TEXTS
    ]
    return table, *(np.concatenate([v[a : len(v) - 1 + a] for v in values]) for a in (0, 1))


@pytest.mark.parametrize("name", NETWORKS)
def test_all_words_of_a_small_vocabulary(name, tokenizer, monkeypatch):
    """A beam that holds every prefix is the entropy of all strings of tokens; both bounds are it."""
    used = []
    compared = next_words.NextWords._compare
    monkeypatch.setattr(
        next_words.NextWords, "_compare", lambda *given: used.append(1) or compared(*given)
    )
    network = network_of(name)
    table, before, after = compare(network, tokenizer, method="beam", beam=10**4)
    np.testing.assert_allclose(table["word_entropy_bits"], before, atol=2e-4)
    np.testing.assert_allclose(table["word_entropy_upper_bits"], before, atol=2e-3)
    reduced = np.maximum(0, before - after)
    np.testing.assert_allclose(table["word_entropy_reduction_bits"], reduced, atol=4e-4)
    assert bool(used) == NETWORKS[name]


def test_end_of_the_text_as_an_outcome(tokenizer):
    """With `end_of_text` the end is one outcome more: the entropy of Pimentel & Meister's (2024) B."""
    settings = {"method": "beam", "beam": 10**4, "end_of_text": True}
    table, before, _ = compare(network_of("gpt2"), tokenizer, **settings)
    np.testing.assert_allclose(table["word_entropy_bits"], before, atol=2e-4)
    without = compare(network_of("gpt2"), tokenizer, method="beam", beam=10**4)[1]
    assert np.abs(before - without).max() > 0.01


@pytest.mark.parametrize("beam", [1, 3, 20])
@pytest.mark.parametrize("name", ["gpt2", "alibi"])
def test_bounds_contain_the_entropy(name, beam, tokenizer):
    table, before, _ = compare(network_of(name), tokenizer, method="beam", beam=beam)
    lower, upper = table["word_entropy_lower_bits"], table["word_entropy_upper_bits"]
    assert (lower <= before + 1e-4).all() and (upper >= before - 1e-4).all()
    assert (table["word_entropy_left"] > 1e-4).all() or beam == 20
    assert (table["word_entropy_bits"] == lower).all()


def many_seeds(network, tokenizer, seeds=80, **settings):
    """Return estimates and standard errors (seeds, words), bits."""
    model = Model(network, tokenizer)
    values = []
    for seed in range(seeds):
        given = {"longest": LONGEST, "seed": seed} | settings
        table = score_words(
            truth.TEXTS, model, measures=["word_entropy"], word_entropy=given
        ).table
        values.append(table[["word_entropy_bits", "word_entropy_se_bits"]].to_numpy().T)
    return np.array(values).transpose(1, 0, 2)


@pytest.mark.parametrize("settings", [
    {"samples": 4}, {"samples": 16}, {"samples": 16, "estimator": "plain"},
    {"samples": 16, "estimator": "plain", "end_of_text": True}, {"samples": 8, "end_of_text": True},
], ids=str)  # fmt: skip
def test_samples_are_unbiased_and_so_are_their_errors(settings, tokenizer):
    network = network_of("neox")
    _, before, _ = compare(network, tokenizer, method="beam", beam=10**4, **{
        name: value for name, value in settings.items() if name == "end_of_text"
    })  # fmt: skip
    values, errors = many_seeds(network, tokenizer, **settings)
    spread = values.std(0, ddof=1)
    off = (values.mean(0) - before) / (spread / np.sqrt(len(values)) + 1e-5)
    assert np.abs(off).max() < 4, off
    assert np.mean(off**2) < 2.5
    stated = np.sqrt((errors**2).mean(0))
    assert 0.8 < np.mean(stated / spread) < 1.25, stated / spread


def test_stepwise_has_a_far_smaller_error_than_plain(tokenizer):
    network = network_of("neox")
    stepwise = many_seeds(network, tokenizer, 10, samples=16)[1]
    plain = many_seeds(network, tokenizer, 10, samples=16, estimator="plain")[1]
    assert (stepwise.mean(0) < plain.mean(0) / 2).all()
