"""Gates, step sizes and states of recurrent memories against plain loops over their equations."""

import numpy as np
import pytest
import torch
import transformers

import scored_families
from recency.errors import InputError
from recency.networks import recurrent
from recency.scoring import measures
from recency.scoring.surprisal import Model, score_words
from small_networks import byte_tokenizer

TEXTS = ["The cat’s well-known friends sat.", " ".join(["on and on"] * 40), "Word"]
SHAPE = {"family": "recurrent", "layers": 2, "width": 12, "embedding": 8}
LSTM, GRU = {"form": "lstm"}, {"form": "gru"}
SELECTIVE = {"form": "state_space", "states": 3, "selective": True}


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer(TEXTS, 300)


def model_of(memory, tokenizer, **shape):
    made = recurrent.new(SHAPE | shape | {"memory": memory}, tokenizer.get_vocab_size(), 1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(2)
    return Model(made.eval(), tokenizer)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(cell, inputs):
    """Return gates and states of an LSTM, step by step; weights are stacked as i, f, g, o."""
    w, u, b, c = [p.detach().double().numpy() for p in cell.parameters()]
    width = u.shape[1]
    h, kept = np.zeros(width), np.zeros(width)
    rows = []
    for x in inputs:
        i, f, g, o = np.split(w @ x + b + u @ h + c, 4)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        kept = f * kept + i * g
        h = o * np.tanh(kept)
        rows.append(({"input": i, "forget": f, "output": o}, h))
    return rows


def gru(cell, inputs):
    """Return gates and states of a GRU, step by step; weights are stacked as r, z, n."""
    w, u, b, c = [p.detach().double().numpy() for p in cell.parameters()]
    h, rows = np.zeros(u.shape[1]), []
    for x in inputs:
        (wr, wz, wn), (ur, uz, un) = np.split(w @ x + b, 3), np.split(u @ h + c, 3)
        r, z = sigmoid(wr + ur), sigmoid(wz + uz)
        h = (1 - z) * np.tanh(wn + r * un) + z * h
        rows.append(({"reset": r, "update": z}, h))
    return rows


def words_of(values, text, tokenizer, combine):
    """Return a value a word of a value a token."""
    counts = [len(tokenizer.encode(" " * (n > 0) + w).ids) for n, w in enumerate(text.split())]
    return [combine(part) for part in np.split(np.array(values), np.cumsum(counts)[:-1])]


@pytest.mark.parametrize(("memory", "step"), [(LSTM, lstm), (GRU, gru)])
@pytest.mark.parametrize("bos", [True, False])
def test_gates_and_states_as_the_equations_say(tokenizer, memory, step, bos):
    model = model_of(memory, tokenizer)
    names = ("input", "forget", "output") if memory is LSTM else ("reset", "update")
    asked = [f"memory_gate_{name}{site}" for name in names for site in ("", "_l1")]
    asked += ["state_change", "state_change_l1", "state_change_l0"]
    settings = {"bos": bos, "tokens_at_once": 64}  # the long text in pieces of 64
    got = score_words(TEXTS, model, measures=asked, **settings).table
    wanted = {name: [] for name in asked}
    for text in TEXTS:
        ids = [0] * bos + tokenizer.encode(text).ids
        x = model.network.model.embedding.weight.detach().double().numpy()[ids]
        change = [np.nan, *np.linalg.norm(np.diff(x, axis=0), axis=1)][bos:]
        wanted["state_change_l0"] += words_of(change, text, tokenizer, np.sum)
        for layer, memory_layer in enumerate(model.network.model.layers, 1):
            rows = step(memory_layer.cell, x)
            x = np.array([h for _, h in rows])
            for name in names:
                means = [gates[name].mean() for gates, _ in rows][bos:]
                values = words_of(means, text, tokenizer, np.mean)
                for site in [f"_l{layer}", *[""] * (layer == 2)]:
                    if f"memory_gate_{name}{site}" in wanted:
                        wanted[f"memory_gate_{name}{site}"] += values
            change = [np.nan, *np.linalg.norm(np.diff(x, axis=0), axis=1)][bos:]
            wanted["state_change" + "_l1" * (layer == 1)] += words_of(
                change, text, tokenizer, np.sum
            )
    for name, values in wanted.items():
        np.testing.assert_allclose(got[name], values, atol=2e-5, err_msg=name)
        assert got[name].nunique() > 5
    assert len(tokenizer.encode(TEXTS[1]).ids) > 64


def test_step_sizes_of_a_selective_memory(tokenizer):
    model = model_of(SELECTIVE, tokenizer)
    got = score_words(TEXTS, model, measures=["step_size", "step_size_l1"], tokens_at_once=64).table
    wanted = {"step_size_l1": [], "step_size": []}
    for text in TEXTS:
        x = model.network.model.embedding.weight[[0, *tokenizer.encode(text).ids]].detach().double()
        for layer, name in enumerate(wanted):
            memory = model.network.model.layers[layer].double()
            scaled = x / (x**2).mean(-1, keepdim=True).add(torch.finfo(torch.float64).eps).sqrt()
            rows = []
            for row in scaled:
                u = memory.enter.weight[:12] @ row
                step = memory.choose.weight[:12] @ u + memory.step
                rows.append(float(step.exp().log1p().mean()))
            wanted[name] += words_of(rows[1:], text, tokenizer, np.sum)
            with torch.no_grad():
                x = memory(x[None], memory.start(1), None)[0][0]
            memory.float()
    for name, values in wanted.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-4, err_msg=name)
        assert got[name].nunique() > 5


@pytest.mark.parametrize(
    ("memory", "shape", "name", "message"),
    [
        (LSTM, {}, "memory_gate_update", "has no gate 'update'.*input"),
        (GRU, {}, "memory_gate_update_l3", "has 2 layers, no layer 3"),
        (LSTM, {"feed_forward": 12}, "memory_gate_forget_l3", "has 2 layers, no layer 3"),
        (LSTM, {}, "attention_entropy", "has no attention"),
        (LSTM, {}, "step_size", "no selective state-space layers"),
        (SELECTIVE | {"selective": False}, {}, "step_size", "no selective state-space layers"),
        (SELECTIVE, {}, "memory_gate_forget", "has no gates"),
        (LSTM, {}, "layer_surprisal_l0", "states of layer 0 are 8 wide, .* predicts from 12"),
    ],
)
def test_what_a_recurrent_network_does_not_have_is_refused(tokenizer, memory, shape, name, message):
    model = model_of(memory, tokenizer, **shape)
    with pytest.raises(InputError, match=message):
        score_words("The cat", model, measures=name)
    config = model.network.config
    known = measures.memory_shape(memory, config.num_hidden_layers, bool(shape))
    if "wide" not in message:
        (problem,) = measures.problems([name], known)
        assert problem.startswith(f"measure {name!r}: ")


def test_layers_below_predict_by_the_output_layer(tokenizer):
    model = model_of(LSTM, tokenizer)
    table = score_words("The cat sat", model, measures=["layer_surprisal_l1"]).table
    ids = [0, *tokenizer.encode("The cat sat").ids]
    states = model.network.model(torch.tensor([ids]), output_hidden_states=True).hidden_states[1][0]
    logs = model.network.lm_head(states).log_softmax(-1)
    wanted = -sum(float(logs[at, ids[at + 1]]) for at in range(len(ids) - 1)) / np.log(2)
    assert np.isclose(table["layer_surprisal_l1_bits"].sum(), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("family", "scan"),
    [
        ("Mamba", "mamba_selective_scan"),
        ("FalconMamba", "falcon_mamba_selective_scan"),
        ("Mamba2", "mamba2_chunk_scan"),
    ],
)
def test_step_sizes_are_those_that_transformers_scans_with(family, scan, monkeypatch):
    network, tokens = scored_families.network(family), scored_families.tokenizer()
    if family == "Mamba2":
        for layer in network.backbone.layers:
            layer.mixer.time_step_limit = (0.0, 0.9)
    settings = {"measures": ["step_size_l1", "step_size"], "bos": "<s>", "window": 32}
    got = score_words(scored_families.TEXTS[0], Model(network, tokens), **settings).table
    module = getattr(
        transformers.models, {"FalconMamba": "falcon_mamba"}.get(family, family.lower())
    )
    module = getattr(module, f"modeling_{module.__name__.rsplit('.', 1)[1]}")
    scans = [name for name in dir(module) if name == scan or name.endswith(scan.split("_", 1)[1])]
    original, seen = getattr(module, scans[0]), []

    def record(*given, **named):
        if family == "Mamba2":
            step = torch.nn.functional.softplus(given[1] + named["dt_bias"])
            step = step.clamp(*named["dt_limit"])
        else:
            step = torch.nn.functional.softplus(given[1] + named["delta_bias"][:, None])
            step = step.transpose(1, 2)
        seen.append(step[0].mean(-1).detach().numpy())
        return original(*given, **named)

    monkeypatch.setattr(module, scans[0], record)
    ids = [scored_families.BEGIN, *tokens.encode(scored_families.TEXTS[0]).ids]
    with torch.no_grad():
        network(torch.tensor([ids]), use_cache=False)
    assert len(seen) == 2
    for name, values in zip(settings["measures"], seen, strict=True):
        wanted = words_of(values[1:], scored_families.TEXTS[0], tokens, np.sum)
        np.testing.assert_allclose(got[name], wanted, rtol=1e-4, atol=1e-6, err_msg=name)
        assert got[name].nunique() > 3


#: Families whose own attention gives no weights, or none in all layers.
WITHOUT_WEIGHTS = {"OpenAIGPT", "Falcon", "Bloom", "Mpt", "XGLM", "GPTNeoXJapanese"}
WITHOUT_WEIGHTS |= {"RoFormerDecoder", "Mamba", "Mamba2", "FalconMamba", "Rwkv", "xLSTM"}


@pytest.mark.merge
@pytest.mark.parametrize("family", scored_families.CAUSAL)
def test_attention_and_states_of_every_family(family):
    network, tokens = scored_families.network(family), scored_families.tokenizer()
    text, model = scored_families.TEXTS[0], Model(network, tokens)
    settings = {"bos": "<s>", "window": scored_families.window(family), "tokens": True}
    ids = [scored_families.BEGIN, *tokens.encode(text).ids]
    states = score_words(text, model, measures="state_change_l1", **settings).tokens
    if family in WITHOUT_WEIGHTS:
        with pytest.raises(InputError, match="no attention"):
            score_words(text, model, measures="attention_mean_distance", **settings)
        return
    got = score_words(text, model, measures="attention_mean_distance", **settings).tokens
    before = network.config._attn_implementation
    network.set_attn_implementation("eager")
    with torch.no_grad():
        output = network(
            torch.tensor([ids]), output_attentions=True, output_hidden_states=True, use_cache=False
        )
    network.set_attn_implementation(before)
    layers = [each for each in output.attentions if each is not None]
    weights = layers[-1][0].double().mean(0).numpy()
    rows = [weights[at, : at + 1] @ np.arange(at, -1, -1) for at in range(1, len(ids))]
    if family != "GptOss":  # whose sinks leave the rows less than 1
        np.testing.assert_allclose(
            got[measures.columns(["attention_mean_distance"])[0]], rows, atol=1e-4
        )
    wanted = output.hidden_states[1][0].diff(dim=0).norm(dim=-1)
    np.testing.assert_allclose(states["state_change_l1"], wanted, rtol=1e-3, atol=1e-4)
