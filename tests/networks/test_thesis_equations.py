"""The thesis's networks by its equations in NumPy, and their numbers of parameters as it prints them.

Nothing here is computed by the package but the networks' outputs: weights are read from their state.
"""

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from project import ROOT
from recency.errors import InputError
from recency.networks import architectures

V, E, H, TIME = 23, 5, 7, 19
NONE = {"form": "none"}
PRINTED = {"biases": False, "weights": "glorot"}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def probabilities(memory, layers=1, embedding=E, **shape):
    """Return what a network gives each next word of a text, its weights, and the text's words."""
    shape |= {"family": "recurrent", "layers": layers, "width": H, "memory": memory}
    network = architectures.new(shape | {"embedding": embedding}, NONE, V, 3).double().eval()
    words = torch.randint(0, V, (1, TIME), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        given = network(words).logits.softmax(-1)[0].numpy()
    weights = {name: w.numpy() for name, w in network.state_dict().items()}
    return given, weights, words[0].numpy()


def test_rnn():
    """Equations 4.4 and 4.5: H_t = f(X_{t-1} + V H_{t-1}), P_t = g(W H_t)."""
    given, weights, words = probabilities(
        {"form": "rnn", "input_matrix": False, **PRINTED}, embedding=H
    )
    x, v, w = (weights[name] for name in ("model.embedding.weight", "model.layers.0.cell.weight", "lm_head.weight"))  # fmt: skip
    assert sum(each.size for each in weights.values()) == 2 * V * H + H * H
    h = np.zeros(H)
    for t, word in enumerate(words):
        h = np.tanh(x[word] + v @ h)
        np.testing.assert_allclose(given[t], softmax(w @ h), atol=1e-13)


def lstm(x, weights, prefix):
    """Equations 4.6 to 4.9 of X_{t-1}, and 4.12 to 4.15 of H^l_t: the states H_t."""
    of_x, of_h = (np.split(weights[f"{prefix}.weight_{of}_l0"], 4) for of in ("ih", "hh"))
    h, c, states = np.zeros(H), np.zeros(H), []
    for x_t in x:
        i, f, new, o = (u @ x_t + v @ h for u, v in zip(of_x, of_h))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
        states.append(h := sigmoid(o) * np.tanh(c))
    return states


def test_lstm():
    given, weights, words = probabilities({"form": "lstm", **PRINTED})
    states = lstm(weights["model.embedding.weight"][words], weights, "model.layers.0.cell")
    expected = softmax(np.stack(states) @ weights["lm_head.weight"].T)
    np.testing.assert_allclose(given, expected, atol=1e-13)


@pytest.mark.parametrize("recurrence", ["matrix", "vector"])
@pytest.mark.parametrize("deep", [False, True])
def test_lsrc(recurrence, deep):
    """Equations 4.11 to 4.16; D-LSRC has one ReLU layer more, without recurrence."""
    more = {"feed_forward": 6} if deep else {}
    given, weights, words = probabilities(
        {"form": "lsrc", "recurrence": recurrence, **PRINTED}, **more
    )
    local, states = np.zeros(E), []
    for x in weights["model.embedding.weight"][words]:
        if recurrence == "matrix":
            kept = weights["model.layers.0.local.weight"] @ local
        else:
            kept = weights["model.layers.0.local"][0] * local
        states.append(local := np.tanh(x + kept))
    hidden = np.stack(lstm(states, weights, "model.layers.0.long.cell"))
    if deep:
        hidden = np.maximum(hidden @ weights["model.feed_forward.weight"].T, 0)
    expected = softmax(hidden @ weights["lm_head.weight"].T)
    np.testing.assert_allclose(given, expected, atol=1e-13)


@pytest.mark.parametrize("n1", [1, 2, 4])
@pytest.mark.parametrize("context", [0.7, "vector", "word"])
def test_srnn(context, n1):
    """P_{t-i} = f_s(X_{t-i} U + C ⊙ P_{t-i-1}); H_t = f(Σ_{i=1}^{n-1} P_{t-i} V_i)."""
    given, weights, words = probabilities({"form": "srnn", "context": context, "window": n1})
    v = np.split(weights["model.layers.0.read.weight"], n1, 1)[::-1]  # V_1 is of the latest
    p = [np.zeros(E)] * n1
    for t, word in enumerate(words):
        c = context
        if context != 0.7:
            c = weights["model.layers.0.context"][word if context == "word" else 0]
        p.append(np.tanh(weights["model.embedding.weight"][word] + c * p[-1]))
        h = np.maximum(sum(v[i - 1] @ p[-i] for i in range(1, n1 + 1)), 0)
        np.testing.assert_allclose(given[t], softmax(weights["lm_head.weight"] @ h), atol=1e-13)


def test_words_are_added_to_a_state_of_their_width():
    with pytest.raises(InputError, match="adds a word's 5 numbers to a state of 7; leave `embed"):
        probabilities({"form": "rnn", "input_matrix": False})


def tables(name):
    """Return a config's networks by label, and the published rows of the same LMs."""
    config = yaml.safe_load((ROOT / f"config/{name}.yaml").read_text())
    networks = {}
    for lm in config["lms"].values():
        if "architecture" in lm:
            shape = config["architectures"][lm["architecture"]]
            networks[lm["label"]] = shape | {"memory": config["memories"][lm["memory"]]}
    files = {"ptb": ("2_1", "3_3", "4_2"), "ltcb": ("3_4", "4_3")}[name]
    for file in files:
        rows = pd.read_csv(ROOT / "data" / "published" / f"thesis_table{file}.csv")
        if "here" in rows:
            rows["label"] = rows.here.fillna(rows.label)
        yield file, networks, rows.dropna(subset="parameters").set_index("label").parameters


def rounded(count, printed):
    """Return a number of parameters as the table writes it: 6M, 6.32M."""
    digits = len(printed.partition(".")[2].rstrip("M"))
    return f"{count / 1e6:.{digits}f}M"


#: Networks whose number of parameters the thesis prints otherwise, and its own equations' number.
OTHERWISE = {
    # A vocabulary of 80,000, embeddings of 200 and 600 units: 64.48 M, for which it prints 65 M.
    ("3_4", "WI-SRNN*, n − 1 = 4"): 64_480_000,
    ("3_4", "WI-SRNN, n − 1 = 4"): 64_480_200,
    # 6.32 M and a layer of 400 × 400; it prints 6.96 M, the number of the LSTM.
    ("4_2", "FNN, n − 1 = 4, 2 layers"): 6_480_000,
    ("4_2", "FOFE, n − 1 = 4, 2 layers"): 6_480_000,
    # The published deep RNN is another network: Pascanu et al. (2014), with maxout and dropout.
    ("3_3", "RNN, 3 layers"): 8_480_000,
    ("4_2", "RNN, 3 layers"): 8_480_000,
    # Without classes, whose vectors are H · C more parameters: 10.26 M with 18 classes.
    ("2_1", "RNN 500"): 10_250_000,
}


@pytest.mark.parametrize(("name", "many"), [("ptb", 48), ("ltcb", 14)])
def test_numbers_of_parameters_are_the_thesis_s(name, many):
    vocabulary, seen = {"ptb": 10_000, "ltcb": 80_000}[name], set()
    for file, networks, published in tables(name):
        for label in published.index.intersection(list(networks)):
            with torch.device("meta"):
                network = architectures.new(networks[label], NONE, vocabulary, 1)
            count = sum(weights.numel() for weights in network.parameters())
            if (file, label) in OTHERWISE:
                assert count == OTHERWISE[file, label], label
                assert rounded(count, published[label]) != published[label], label
            else:
                assert rounded(count, published[label]) == published[label], label
            seen.add((file, label))
    files = {file for file, _ in seen}
    assert {key for key in OTHERWISE if key[0] in files} <= seen and len(seen) == many
