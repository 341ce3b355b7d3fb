"""Random networks of three families, and measures of their inside written out in loops."""

import itertools

import numpy as np
import pandas as pd
import scipy.stats
import torch
import transformers

from recency.scoring import measures

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
