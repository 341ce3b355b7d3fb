"""Probe, attention maps and attention by distance of masked LMs, which see both ways."""

import numpy as np
import pandas as pd
import pytest
import torch

from masked_networks import roberta
from recency.evaluations.attention_by_distance import score as attention_by_distance
from recency.evaluations.attention_maps import score as attention_map
from recency.scoring import inner_states
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import load

WORDS = [f"w{number}" for number in range(25)]
BIAS = {"form": "linear_both", "slopes": 1.0, "offset": 0.5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return roberta(tmp_path_factory.mktemp("roberta"), WORDS, context=12, layers=2)


@pytest.fixture(scope="module")
def texts():
    """Two texts, the second longer than the ten words that fit into one input."""
    random = np.random.default_rng(3)
    sizes = {"a": 7, "b": 23}
    return pd.DataFrame(
        [(item, word) for item, size in sizes.items() for word in random.choice(WORDS, size)],
        columns=["item", "word"],
    )


def pieces(opened, table):
    """Return each text's inputs, piece by piece, and the places of the words that are new in it."""
    found, at = [], 0
    for _, rows in table.groupby("item"):
        ids = [opened.tokenizer.token_to_id(word) for word in rows.word]
        begins = [0] if len(ids) <= 10 else [0, 10, len(ids) - 10]
        done = 0
        for begin in begins:
            piece = ids[begin : begin + 10]
            new = begin + len(piece) - done
            found.append(([0, *piece, 2], begin, done - begin + 1, at + done, new))
            done = begin + len(piece)
        at += len(ids)
    return found


def test_states_of_words_are_those_of_transformers_piece_by_piece(folder, texts):
    opened = load(folder)
    aligned = list(opened.texts(texts).values())
    found = inner_states.word_states(
        opened.network, aligned, [0, 2], None, around=opened.around, tokens_at_once=30
    )
    with torch.inference_mode():
        for ids, _, fresh, first, new in pieces(opened, texts):
            model = opened.network(torch.tensor([ids]), output_hidden_states=True)
            for place, layer in enumerate((0, 2)):
                expected = model.hidden_states[layer][0, fresh : fresh + new].numpy()
                np.testing.assert_allclose(found[place][first : first + new], expected, atol=1e-5)


def attention(folder, ids):
    """Return transformers' own attention, layer by layer."""
    network = load(folder).network
    network.set_attn_implementation("eager")
    with torch.inference_mode():
        return network.base_model(torch.tensor([ids]), output_attentions=True).attentions


def test_a_map_has_what_is_ahead_and_is_that_of_transformers(folder, tmp_path):
    attention_map.main("w1 w2 w3 w4", LMSpec("rob", folder), tmp_path / "map.parquet")
    table = pd.read_parquet(tmp_path / "map.parquet")
    assert len(table) == 2 * 4 * 6 * 6
    expected = attention(folder, load(folder).tokenizer.encode("w1 w2 w3 w4").ids)
    for (layer, head), rows in table.groupby(["layer", "head"]):
        found = np.zeros((6, 6))
        found[rows["query"], rows.key] = rows.attention
        np.testing.assert_allclose(found, expected[layer - 1][0, head - 1].numpy(), atol=1e-6)
    names = table.drop_duplicates("key").key_token
    assert list(names) == ["<s>", "w1", "w2", "w3", "w4", "</s>"]


@pytest.mark.merge
@pytest.mark.parametrize("bias", [None, BIAS])
def test_distances_are_signed_and_those_of_loops(folder, texts, tmp_path, bias):
    words = texts.assign(sentence=0, position=texts.groupby("item").cumcount())
    words.assign(word_id=range(len(words))).to_parquet(tmp_path / "words.parquet")
    out, summary = tmp_path / "d.parquet", tmp_path / "s.csv"
    attention_by_distance.main(
        tmp_path / "words.parquet", LMSpec("rob", folder, bias=bias), out, summary
    )
    opened = load(folder)
    mass, uniform, queries = np.zeros((2, 4, 23)), np.zeros(23), 0
    ahead = np.zeros((2, 4))
    for ids, begin, fresh, _, _ in pieces(opened, texts):
        layers = network_attention(folder, ids, bias)
        for query in range(fresh if begin else 0, len(ids)):
            queries += 1
            for key in range(len(ids)):
                uniform[query - key + 11] += 1 / len(ids)
                for layer in range(2):
                    given = layers[layer][0, :, query, key].numpy()
                    mass[layer, :, query - key + 11] += given
                    ahead[layer] += given * (key > query)
    table = pd.read_parquet(out)
    assert list(table.distance.unique()) == list(range(-11, 12))
    found = table.mass.to_numpy().reshape(2, 4, 23)
    np.testing.assert_allclose(found, mass / queries, atol=1e-6)
    np.testing.assert_allclose(found.sum(2), 1, atol=1e-6)
    np.testing.assert_allclose(table.uniform[:23], uniform / queries, atol=1e-9)
    heads = pd.read_csv(summary)
    np.testing.assert_allclose(heads.ahead, ahead.ravel() / queries, atol=1e-6)
    assert (heads.relative_entropy <= 1 + 1e-9).all()
    assert heads.total_variation.notna().all() == (bias is not None)


def network_attention(folder, ids, bias):
    """Return attention by transformers itself, or with the bias by the equation, layer by layer."""
    if bias is None:
        return attention(folder, ids)
    from recency.scoring import inner_states

    network, found = load(folder, bias=bias).network, {}
    inner_states.enable_weights(network)
    inner_states.visit_layers(network, ids, found.__setitem__)
    return [found[layer][None] for layer in sorted(found)]
