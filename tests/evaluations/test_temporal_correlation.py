"""The temporal correlation of states, against a plain loop and of made states whose answer is known."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models

from project import show
from recency.errors import InputError
from recency.evaluations.temporal_correlation import figure, score
from recency.networks import architectures
from recency.scoring.lm_spec import LMSpec
from small_networks import NONE, TINY, byte_tokenizer


def by_hand(states, lengths, distance):
    found, at = [], 0
    for size in lengths:
        text = states[at : at + size]
        at += size
        for t in range(size - distance):
            a, b = text[t], text[t + distance]
            found.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    return np.mean(found), len(found)


def test_all_distances_at_once_are_those_of_a_loop():
    states, lengths = np.random.default_rng(0).normal(size=(60, 5)) + 0.5, [7, 30, 1, 22]
    correlation, pairs = score.correlations(states, lengths, 100)
    assert len(correlation) == 29  # the longest text
    for distance in (1, 2, 6, 7, 25, 29):
        expected = by_hand(states, lengths, distance)
        assert (correlation[distance - 1], pairs[distance - 1]) == pytest.approx(expected)


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_states_that_fade_by_rho_are_alike_by_its_powers(rho):
    random = np.random.default_rng(1)
    states = np.empty((400, 2000))
    states[0] = random.normal(size=2000)
    for t in range(1, len(states)):
        states[t] = rho * states[t - 1] + np.sqrt(1 - rho**2) * random.normal(size=2000)
    correlation, _ = score.correlations(states, [400], 20)
    assert correlation == pytest.approx(rho ** np.arange(1, 21), abs=0.01)


def test_shuffling_keeps_the_words_and_the_lengths_of_texts():
    words = pd.DataFrame({"item": list("aabbb"), "word": list("vwxyz")})
    other = score.shuffled(words, 1)
    assert list(other["item"]) == list(words["item"]) and sorted(other.word) == sorted(words.word)
    assert score.shuffled(words, 1).equals(other) and not score.shuffled(words, 2).equals(other)


def test_file_and_figure_of_a_network(tmp_path):
    tokenizer, random = byte_tokenizer(), np.random.default_rng(0)
    drawn = random.choice(["it", "rained", "nobody", "remembered", "the", "cat"], 120)
    words = pd.DataFrame({"item": np.repeat(["1", "2"], 60), "word": drawn})
    words.to_parquet(tmp_path / "words.parquet")
    network = architectures.new(TINY, NONE, tokenizer.get_vocab_size(), seed=0)
    network.save_pretrained(tmp_path / "lm")
    tokenizer.save(str(tmp_path / "lm" / "tokenizer.json"))
    out = tmp_path / "lm.csv"
    lm = LMSpec("lm", tmp_path / "lm", tmp_path / "lm" / "tokenizer.json", bos=False)
    score.main(tmp_path / "words.parquet", lm, out, 30, 1)
    rows = pd.read_csv(out)
    assert list(rows.layer.unique()) == [1, 2] and rows.distance.max() == 30
    assert rows.pairs[0] == 118 and rows.correlation.between(-1, 1).all()
    lms = [{"lm": "lm", "label": "no bias", "bias": NONE, "applied": "none"}]
    show(
        figure.main,
        correlations=[out],
        out=[tmp_path / f"f.{end}" for end in ("svg", "csv")],
        lms=lms,
    )
    found = pd.read_csv(tmp_path / "f.csv")
    first = rows[(rows.layer == 1) & (rows.distance == 1)].iloc[0]
    assert found.correlation[0] == pytest.approx(first.correlation)
    assert found.shuffled[0] == pytest.approx(first.shuffled)
    # Of 118 pairs one word apart, half as many are 29 apart.
    assert 20 < found.distance.max() <= 30
    # The seeds of an LM are drawn as their mean.
    other = tmp_path / "other.csv"
    rows.assign(correlation=rows.correlation - 1).to_csv(other, index=False)
    seeds = [lms[0] | {"variant": "lm"}, lms[0] | {"variant": "lm@seed=2"}]
    drawn = [tmp_path / f"s.{end}" for end in ("svg", "csv")]
    show(figure.main, correlations=[out, other], out=drawn, lms=seeds)
    both = pd.read_csv(drawn[1])
    assert len(both) == len(found)
    assert both.correlation.to_numpy() == pytest.approx(found.correlation.to_numpy() - 0.5)


def test_a_large_dataset_is_drawn_as_far_as_there_are_a_thousand_pairs():
    pairs = np.array([9000, 4000, 1000, 999])
    rows = pd.DataFrame(
        {
            "state": "output",
            "distance": [1, 2, 3, 4],
            "correlation": 0.5,
            "shuffled": 0.1,
            "pairs": pairs,
        }
    )
    assert list(figure.points(rows).distance) == pytest.approx([1, 2, 3])


def test_texts_of_one_word_have_no_distances(tmp_path):
    words = pd.DataFrame({"item": ["1", "2"], "word": ["it", "rained"]})
    words.to_parquet(tmp_path / "words.parquet")
    tokenizer = byte_tokenizer()
    architectures.new(TINY, NONE, tokenizer.get_vocab_size(), seed=0).save_pretrained(
        tmp_path / "lm"
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InputError, match=r"words.parquet: no text has two words"):
        lm = LMSpec("lm", tmp_path / "lm", tmp_path / "tokenizer.json", bos=False)
        score.main(tmp_path / "words.parquet", lm, tmp_path / "out.csv", 30, 1)


@pytest.mark.parametrize("reset", ["never", "document"])
def test_a_corpus_is_read_as_one_text_with_the_short_memory_of_an_lsrc(
    tmp_path, reset, monkeypatch
):
    monkeypatch.setattr(score, "PIECE", 7)
    shape = {
        "family": "recurrent",
        "layers": 1,
        "width": 6,
        "embedding": 4,
        "memory": {"form": "lsrc"},
    }
    network = architectures.new(shape, NONE, 9, 1)
    with torch.no_grad():
        network.model.embedding.weight *= 3
    network.save_pretrained(tmp_path / "lm")
    words = Tokenizer(models.WordLevel({f"w{n}": n for n in range(9)}, unk_token="w1"))
    words.save(str(tmp_path / "lm" / "tokenizer.json"))
    ids = np.random.default_rng(0).integers(0, 9, 40)
    ids.astype("<u2").tofile(tmp_path / "t.bin")
    (tmp_path / "t.json").write_text(json.dumps({"dtype": "uint16", "end_of_document": 0}))
    lm = LMSpec("lm", tmp_path / "lm", tmp_path / "lm" / "tokenizer.json")
    out = tmp_path / "o.csv"
    score.correlate_corpus(tmp_path / "t.bin", tmp_path / "t.json", lm, out, 12, 1, reset)
    rows = pd.read_csv(out)
    weights = {name: w.numpy() for name, w in network.state_dict().items()}
    local, states = (
        np.zeros(4),
        [],
    )  # H^l_t = tanh(X + U H^l_{t-1}), after the word that ends a text
    for word in [0, *ids]:
        kept = weights["model.layers.0.local.weight"] @ (local * (reset == "never" or word != 0))
        states.append(local := np.tanh(weights["model.embedding.weight"][word] + kept))
    if reset == "never":
        found = rows[rows.state == "local"].set_index("distance")
        assert len(found) == 12 and (found.pairs == 40 - found.index).all()
        for distance in (1, 5, 12):
            expected, _ = by_hand(np.array(states[1:]), [40], distance)
            assert found.correlation[distance] == pytest.approx(expected, abs=1e-5)
        drawn = [tmp_path / f"f.{end}" for end in ("svg", "csv")]
        lms = [{"lm": "lm", "label": "LSRC", "bias": NONE, "applied": "none"}]
        show(figure.main, correlations=[out], out=drawn, lms=lms)
        assert "LSRC, local" in drawn[0].read_text()
        assert set(pd.read_csv(drawn[1]).state) == {"output", "local"}
    output = rows[rows.state == "output"].set_index("distance").correlation
    with torch.no_grad():
        read = torch.tensor([[0, *ids]])
        whole = network.model(read, resets=read == 0 if reset == "document" else None)
    expected, _ = by_hand(whole.last_hidden_state[0, 1:].numpy(), [40], 3)
    assert output[3] == pytest.approx(expected, abs=1e-5)
    attention = architectures.new(TINY, NONE, 9, seed=0)
    attention.save_pretrained(tmp_path / "lm")
    with pytest.raises(InputError, match="has no state that is carried through a corpus"):
        score.correlate_corpus(tmp_path / "t.bin", tmp_path / "t.json", lm, out, 12, 1)
