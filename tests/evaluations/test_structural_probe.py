"""The structural probe: its loss against a loop, a planted geometry, the states that it reads."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

from random_trees import bank, random_heads
from recency.attention import biased
from recency.errors import InputError
from recency.evaluations.probe import score, treebank
from recency.evaluations.probe import score as structural_probe
from recency.networks import architectures
from recency.scoring import alignment, inner_states
from recency.scoring.lm_spec import LMSpec
from small_networks import MIX, NONE, TINY, byte_tokenizer

SETTINGS = {
    "rank": None, "epochs": 4, "batch": 5, "learning_rate": 0.01, "patience": 2,
    "sentences": None, "seed": 1, "untrained": True,
}  # fmt: skip
GPT2 = {k: v for k, v in TINY.items() if k != "rotary_fraction"} | {"family": "gpt2"}


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer()


def planted(sizes, width, random, turn):
    """Return trees, and states whose squared distances under a known B are those of the tree.

    Of each word the 0/1 vector of its ancestors and itself, turned, moved and hidden among noise.
    """
    sentences = [random_heads(size, random) for size in sizes]
    gold = treebank.Trees.of(bank(sentences))
    parts = []
    for heads in sentences:
        above = np.zeros((len(heads), turn.shape[0] - 4))
        for word in range(len(heads)):
            each = word + 1
            while each:
                above[word, each - 1] = 1
                each = heads[each - 1]
        noise = random.normal(0, 1, (len(heads), 4))
        parts.append(np.hstack([above, noise]) @ turn + random.normal(0, 1, width))
    return np.concatenate(parts), gold


def test_a_planted_tree_is_found():
    random = np.random.default_rng(2)
    turn = np.linalg.qr(random.normal(size=(12, 12)))[0] * 7
    data = {}
    for name, count in (("train", 800), ("dev", 40), ("test", 40)):
        data[name] = planted(random.integers(1, 9, count), 12, random, turn)
    middle, number = score.scaled(data["train"][0], data["train"][1].begin)
    train, dev, test = (
        score.Sentences.of((each - middle) / number, gold) for each, gold in data.values()
    )
    told = []
    fitted, loss, epochs = score.train(
        train, dev, rank=12, epochs=60, batch=20, learning_rate=0.01, patience=3, seed=0,
        report=lambda *each: told.append(each),
    )  # fmt: skip
    assert loss == pytest.approx(score.mean_loss(fitted, dev)) and loss < 1e-3
    table = treebank.score(score.predictor(fitted, test), data["test"][1])
    assert table.uuas[0] == 1 and table.spearman[0] > 0.95
    fresh = torch.rand(12, 12, generator=torch.Generator().manual_seed(1)) - 0.5
    assert treebank.score(score.predictor(fresh, test), data["test"][1]).uuas[0] < 0.8
    # The rate falls after each epoch without a lower loss and not otherwise; then it ends.
    assert len(told) == epochs
    lowest = np.inf
    for (_, rate, dev_loss), (_, after, _) in pairwise(told):
        falls = dev_loss < lowest - score.LEAST_FALL
        lowest = min(lowest, dev_loss) if falls else lowest
        assert after == pytest.approx(rate if falls else rate / 10)
    assert min(each[2] for each in told) == pytest.approx(loss, abs=score.LEAST_FALL)


def test_loss_and_gradient_are_those_of_a_loop():
    random = np.random.default_rng(3)
    sentences = [random_heads(size, random) for size in (4, 1, 9, 2)]
    gold = treebank.Trees.of(bank(sentences))
    values = random.normal(size=(16, 6))
    data = score.Sentences.of(values, gold)
    probe = torch.tensor(random.normal(size=(3, 6)), dtype=torch.float32, requires_grad=True)
    chosen = np.array([2, 0, 3])
    score.losses(data.batch(chosen), probe).mean().backward()
    got = score.losses(data.batch(chosen), probe.detach()).mean()

    matrix = probe.detach().double().numpy()
    total, slope = 0.0, np.zeros_like(matrix)
    for sentence in chosen:
        a, b = gold.begin[sentence : sentence + 2]
        for i in range(a, b):
            for j in range(a, b):
                apart = values[i] - values[j]
                turned = matrix @ apart
                off = turned @ turned - gold.distances[sentence][i - a, j - a]
                total += abs(off) / (b - a) ** 2 / len(chosen)
                slope += np.sign(off) * 2 * np.outer(turned, apart) / (b - a) ** 2 / len(chosen)
    assert float(got) == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(probe.grad.numpy(), slope, atol=2e-5)
    every = [float(score.losses(data.batch(np.array([n])), probe.detach())) for n in range(4)]
    assert every[1] == 0  # a sentence of one word
    assert score.mean_loss(probe.detach(), data, at_once=3) == pytest.approx(np.mean(every))


def test_a_loss_that_is_no_number_is_told():
    gold = treebank.Trees.of(bank([random_heads(5)]))
    data = score.Sentences.of(np.full((5, 3), np.nan), gold)
    with pytest.raises(InputError, match="lower `probe: learning_rate`"):
        score.train(data, data, 3, 1, 5, 1e-3, 1, seed=0)


def test_scale_is_that_of_neighbours():
    random = np.random.default_rng(4)
    values = random.normal(size=(3000, 8)) * 5 + 100
    values[::10] *= 1e4  # words far from all others change neither number nor middle much
    middle, number = score.scaled(values, np.arange(0, 3001, 10))
    assert number == pytest.approx(5 * np.sqrt(2), rel=0.1) and abs(middle - 100).max() < 2
    assert score.scaled(np.ones((3, 2)), np.array([0, 1, 2, 3]))[1] == 1


TEXTS = ["She remembered the unforgettable cat", "It", "Nobody who lived there said so"]


@pytest.mark.parametrize("shape", ["gpt_neox", "gpt2", "biased", "inference", "length"])
@pytest.mark.parametrize("begin", [0, None])
def test_states_are_those_of_transformers(shape, begin, tokenizer):
    """A text at a time by `output_hidden_states`; token by token, by offsets, into words."""
    architecture = TINY if shape != "gpt2" else GPT2
    spec = {"biased": MIX, "length": {"form": "primacy_recency"}}.get(shape, NONE)
    model = architectures.new(architecture, spec, tokenizer.get_vocab_size(), 5).eval()
    if shape == "inference":
        biased.attach(model, MIX)
    texts = [alignment.align(text.split(), tokenizer) for text in TEXTS]
    layers = list(range(inner_states.count_layers(model) + 1))
    found = inner_states.word_states(model, texts, layers, begin, tokens_at_once=64)
    again = inner_states.word_states(model, texts, layers[1:2], begin, tokens_at_once=1)
    assert found.shape == (3, 12, 32)
    np.testing.assert_allclose(again[0], found[1], atol=1e-5)
    word = 0
    for text in TEXTS:
        encoded = tokenizer.encode(text)
        shift = int(begin is not None)
        ids = torch.tensor([[begin] * shift + encoded.ids])
        with torch.inference_mode():
            every = model(ids, output_hidden_states=True).hidden_states
            last = model.base_model(ids)[0]
        assert len(every) == len(layers)
        torch.testing.assert_close(every[-1], last)  # behind the final norm
        at = 0
        for piece in text.split():
            place = text.index(piece, at)
            at = place + len(piece)
            own = [
                n + shift
                for n, (a, b) in enumerate(encoded.offsets)
                if max(a, place - 1) < min(b, at)  # the space before a word is its own
            ]
            for layer in layers:
                expected = every[layer][0, own].mean(0).numpy()
                np.testing.assert_allclose(found[layer, word], expected, atol=1e-5)
            word += 1


def test_states_of_a_long_text_are_those_of_its_windows(tokenizer):
    model = architectures.new(TINY, NONE, tokenizer.get_vocab_size(), 5).eval()
    words = ("the cat saw the dog " * 40).split()
    text = alignment.align(words, tokenizer)
    assert len(text.ids) > 2 * TINY["context"]
    found = inner_states.word_states(model, [text], [2], 0, stride=TINY["context"])[0]
    stream = torch.tensor([0, *text.ids])
    parts = stream.split(TINY["context"])
    with torch.inference_mode():
        tokens = torch.cat([model.base_model(part[None])[0][0] for part in parts])[1:]
    expected = [tokens[text.word == n].mean(0) for n in range(len(words))]
    np.testing.assert_allclose(found, torch.stack(expected), atol=1e-5)


def test_a_token_counts_with_each_word_that_it_has_a_character_of(tokenizer):
    """One token, "at", has the end of a word and the next word, written together."""
    words, spaces = ["the", "ca", "t", "."], [True, False, False, True]
    text = alignment.align(words, tokenizer, spaces=spaces)
    plain = tokenizer.encode("the cat.")
    assert list(text.ids) == plain.ids and spaces == [True, False, False, True]
    bounds = [(0, 3), (3, 6), (6, 7), (7, 8)]
    owners = [{n for n, (a, b) in enumerate(bounds) if max(a, s) < min(b, e)}
              for s, e in plain.offsets]  # fmt: skip
    assert [set(range(a, b + 1)) for a, b in zip(text.word, text.last)] == owners
    assert {1, 2} in owners and {2} not in owners
    assert not inner_states.lacks_token(text).any()
    model = architectures.new(TINY, NONE, tokenizer.get_vocab_size(), 5).eval()
    found = inner_states.word_states(model, [text], [0, 2], None)
    with torch.inference_mode():
        every = model(torch.tensor([plain.ids]), output_hidden_states=True).hidden_states
    for number, layer in enumerate((0, 2)):
        for word in range(4):
            own = [n for n, owner in enumerate(owners) if word in owner]
            expected = every[layer][0, own].mean(0).numpy()
            np.testing.assert_allclose(found[number, word], expected, atol=1e-6)
    assert inner_states.lacks_token(
        alignment.Text(np.array([3, 4]), np.array([0, 2]), 4, last=np.array([0, 2]))
    ).tolist() == [False, True, False, True]


def test_untrained_is_what_training_begins_with(tokenizer):
    size = tokenizer.get_vocab_size()
    ids = torch.arange(9)[None]
    for architecture, spec in ((TINY, MIX), (GPT2 | {"dropout": 0.5}, NONE)):
        first = architectures.new(architecture, spec, size, 7).eval()
        trained = architectures.new(architecture, spec, size, 8).eval()
        fresh = inner_states.untrained(trained, architecture, None, 7)
        with torch.inference_mode():
            torch.testing.assert_close(fresh(ids)[0], first(ids)[0])
            assert not torch.allclose(fresh(ids)[0], trained(ids)[0])
    elsewhere = inner_states.untrained(first, None, {"form": "window", "width": 2}, 7)
    assert elsewhere.config._attn_implementation == biased.NAME
    with torch.inference_mode():  # a window of two: the first token is out of the fourth's reach
        other = ids.clone()
        other[0, 0] = 20
        near, far = (elsewhere.base_model(each)[0][0, 5] for each in (ids, other))
        torch.testing.assert_close(near, far)


@pytest.fixture(scope="module")
def made(tmp_path_factory, tokenizer):
    """Return a folder with a network, its tokenizer and a treebank of made sentences."""
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("made")
    model = architectures.new(TINY, MIX, tokenizer.get_vocab_size(), 5)
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    random = np.random.default_rng(5)
    words = np.array(["the", "cat", "saw", "dog", "she", "remembered", "and", "rained"])
    parts = []
    for split, count in (("train", 30), ("dev", 8), ("test", 8)):
        sizes = random.integers(1, 12, count)
        table = bank([random_heads(size, random) for size in sizes])
        table["relation"] = random.choice(["nsubj", "obj", "nsubj:pass"], len(table))
        table = table.assign(split=split, word=random.choice(words, len(table)), space_after=True)
        parts.append(table)
    pd.concat(parts, ignore_index=True).to_parquet(folder / "bank.parquet")
    return folder


def run(made, out, **changes):
    settings = SETTINGS | changes.pop("settings", {})
    structural_probe.main(
        treebank=made / "bank.parquet", lm=LMSpec("tiny", made, made / "tokenizer.json"), out=out,
        settings=settings, architecture=TINY, **changes,
    )  # fmt: skip
    return pd.read_csv(out)


def test_every_layer_is_measured(made, tmp_path):
    table = run(made, tmp_path / "probe.csv")
    assert list(table.columns) == structural_probe.COLUMNS
    every = table[table.relation == "all"]
    assert list(every.network) == ["adjacent words"] + ["trained"] * 3 + ["untrained"] * 3
    assert every.layer.tolist()[1:] == [0, 1, 2, 0, 1, 2] and np.isnan(every.layer.iloc[0])
    assert every.n.nunique() == 1 and every.uuas.between(0, 1).all()
    assert every.dev_loss.iloc[1:].gt(0).all() and every.epochs.iloc[1:].between(1, 4).all()
    groups = table.groupby(["network", "layer"], dropna=False)
    for _, rows in groups:
        relations = rows.set_index("relation").n
        assert relations["all"] == relations["nsubj"] + relations["obj"]
        assert relations["nsubj:pass"] < relations["nsubj"]
    assert not list(tmp_path.glob(".*"))
    # The memory bounds the layers held at once, and changes nothing else.
    assert run(made, tmp_path / "again.csv", memory_gb=1e-9).equals(table)
    alone = run(made, tmp_path / "alone.csv", settings={"untrained": False})
    assert alone.equals(table[table.network != "untrained"])


@pytest.mark.merge
def test_a_killed_job_goes_on_from_its_layers(made, tmp_path, monkeypatch):
    whole, probe, calls = run(made, tmp_path / "whole.csv"), structural_probe.probe, []

    def killed_at(count):
        def stand_in(*arguments):
            calls.append(arguments[3])
            if len(calls) > count:
                raise KeyboardInterrupt
            return probe(*arguments)

        return stand_in

    monkeypatch.setattr(structural_probe, "probe", killed_at(4))
    with pytest.raises(KeyboardInterrupt):
        run(made, tmp_path / "probe.csv")
    (state,) = tmp_path.glob(".probe.csv.state.json")
    assert len(json.loads(state.read_text())["done"]) == 4
    kept = state.read_bytes()
    calls.clear()
    monkeypatch.setattr(structural_probe, "probe", killed_at(9))
    assert run(made, tmp_path / "probe.csv").equals(whole)
    assert calls == [1, 2]  # of the untrained network
    calls.clear()
    state.write_bytes(kept)
    other = run(made, tmp_path / "probe.csv", settings={"rank": 2})
    assert len(calls) == 6 and not other.equals(whole)


def test_a_sample_of_sentences_is_drawn_by_the_seed(made):
    table = pd.read_parquet(made / "bank.parquet")
    one, two, other = (
        structural_probe.split(table, 10, seed, "bank")["train"] for seed in (1, 1, 2)
    )
    assert one.equals(two) and not one.equals(other) and one.sentence.nunique() == 10
    assert structural_probe.split(table, 99, 1, "bank")["train"].sentence.nunique() == 30
    with pytest.raises(InputError, match="bank: dev has no sentence of two words"):
        structural_probe.split(table[table.split != "dev"], None, 1, "bank")


def test_a_word_without_a_token_costs_its_sentence(made, capsys):
    table = pd.read_parquet(made / "bank.parquet")
    table = table[table.split == "dev"]
    sizes = table.groupby("sentence").size()
    texts = [alignment.Text(np.arange(n), np.arange(n), n, last=np.arange(n)) for n in sizes]
    n = sizes.iloc[2]
    texts[2] = alignment.Text(np.arange(n - 1), np.arange(n - 1), n, last=np.arange(n - 1))
    rows, kept = structural_probe.usable(table, texts, "dev")
    assert len(kept) == 7 and set(rows.sentence) == set(sizes.index) - {3}
    assert "dev: 1 sentences have a word without a token" in capsys.readouterr().err
