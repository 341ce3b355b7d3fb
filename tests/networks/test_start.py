"""Initial word vectors of a training: those of an LM, and composed ones for rare words."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models

from recency.errors import InputError
from recency.networks import architectures, checkpoints, start, string_similarity, train
from training_job import RECIPE, write_stream

WORDS = ["</s>", "<unk>", "walk", "talk", "walks", "talks", "walked", "Walker", "qqq", "stalks"]
FREQUENT = ["walk", "talk", "walks", "talks"]
LBL = {"family": "recurrent", "layers": 1, "embedding": 4, "width": 5}
LSTM = {"family": "recurrent", "layers": 1, "width": 4}
MEMORIES = {"LBL": {"form": "log_bilinear", "window": 2}, "LSTM": {"form": "lstm"}}
NONE = {"form": "none"}
TOLD = {"min_count": 3, "similarity": "ji", "neighbours": 3}


def network(shape=LBL, memory="LBL", seed=1):
    return architectures.new(shape | {"memory": MEMORIES[memory]}, NONE, len(WORDS), seed)


@pytest.fixture
def files(tmp_path):
    """Write a tokenizer, a text in which four words stand often, and an LM of them."""
    tmp_path = tmp_path / "given"
    tmp_path.mkdir()
    opened = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="<unk>"))
    opened.add_special_tokens(["</s>"])
    opened.save(str(tmp_path / "tokenizer.json"))
    network(seed=7).save_pretrained(tmp_path / "lm")
    tokens = np.array([2, 3, 4, 5] * 4 + [6, 0, 7, 7, 0] + [0] * 5, "<u2")
    return tmp_path, tokens


def expected(word, matrix):
    """Return the weighted mean of the three of FREQUENT that are nearest, all of which are tried."""
    from recency.networks import swordss

    near = swordss.Index(FREQUENT).nearest(word.lower(), 3)
    weights = [string_similarity.jaccard(word.lower(), FREQUENT[n]) for n in near]
    rows = [matrix[WORDS.index(FREQUENT[n])] for n in near]
    return np.average(rows, axis=0, weights=weights)


def test_an_lm_s_vectors_begin_another_and_rare_words_have_means_of_neighbours(files):
    folder, tokens = files
    fresh, begun, source = network(), network(), network(seed=7)
    said = start.initialise_vectors(begun, folder / "lm" / "model.safetensors", folder / "tokenizer.json", tokens, TOLD)  # fmt: skip
    assert "4 words begin" in said and "3 with one composed" in said and "1 as drawn" in said
    for get, wide in (("get_input_embeddings", 4), ("get_output_embeddings", 4)):
        new, drawn, old = (
            getattr(m, get)().weight.detach().numpy() for m in (begun, fresh, source)
        )
        for word in FREQUENT:
            np.testing.assert_array_equal(
                new[WORDS.index(word), :wide], old[WORDS.index(word), :wide]
            )
        for word in ("walked", "Walker", "stalks"):
            got = new[WORDS.index(word), :wide]
            np.testing.assert_allclose(got, expected(word, old[:, :wide]), rtol=1e-5)
        for word in ("</s>", "<unk>", "qqq"):
            assert (new[WORDS.index(word)] == drawn[WORDS.index(word)]).all()
        assert (new[:, wide:] == drawn[:, wide:]).all()  # words' biases
    assert torch.equal(begun.model.layers[0].read.weight, fresh.model.layers[0].read.weight)


def test_what_is_not_asked_for_stays_as_drawn(files):
    folder, tokens = files
    source, old = folder / "lm" / "model.safetensors", network(seed=7)
    fresh, begun = network(LSTM, "LSTM"), network(LSTM, "LSTM")
    start.initialise_vectors(
        begun, source, folder / "tokenizer.json", tokens, TOLD | {"compose": False, "output": False}
    )
    assert torch.equal(begun.lm_head.weight, fresh.lm_head.weight)
    new, drawn, given = (m.model.embedding.weight for m in (begun, fresh, old))
    assert torch.equal(new[2:6], given[2:6]) and torch.equal(new[6:], drawn[6:])


def test_what_cannot_begin_is_refused(files):
    folder, tokens = files
    told = folder / "lm" / "model.safetensors", folder / "tokenizer.json", tokens
    with pytest.raises(InputError, match="no word occurs 99 times"):
        start.initialise_vectors(network(), *told, TOLD | {"min_count": 99})
    with pytest.raises(InputError, match="no setting is called 'neighbors'; did you mean 'neigh"):
        start.initialise_vectors(network(), *told, TOLD | {"neighbors": 3})
    wide = network({**LBL, "embedding": 6, "width": 7})
    with pytest.raises(InputError, match="vectors of 4 numbers, and words are read by 6 here"):
        start.initialise_vectors(wide, *told, TOLD)
    with pytest.raises(InputError, match="predicted by 6 here.*or `output: false`"):
        start.initialise_vectors(network({**LBL, "width": 7}), *told, TOLD)


def test_a_training_begins_there(files, job, tmp_path):
    folder, _ = files
    rng = np.random.default_rng(0)
    tokens, info = write_stream(tmp_path, rng.integers(0, len(WORDS), 900), len(WORDS))
    recipe = RECIPE | {"order": "streams", "steps": 6, "vectors": {"of": "lm", "compose": True}}
    job |= {"architecture": LBL | {"memory": MEMORIES["LBL"]}, "bias": NONE, "recipe": recipe}
    job |= {"tokens": tokens, "info": info, "tokenizer": folder / "tokenizer.json"}
    job |= {"vectors": folder / "lm" / "model.safetensors"}
    job["recipe"]["learning_rate"] = 1e-30
    train.main(**job | {"recipe": recipe | {"minimum_learning_rate": 0, "weight_decay": 0.0}})
    begun = checkpoints.load(job["out"].parent).model.embedding.weight
    torch.testing.assert_close(begun[2:], network(seed=7).model.embedding.weight[2:])


@pytest.mark.merge
def test_made_vectors_tell_words_that_training_hardly_has(job, tmp_path):
    """Of a noun each verb comes in four forms, a fifth once in training: its neighbours tell its place."""
    rng, nouns = np.random.default_rng(3), [f"n{n}" for n in range(8)]
    stems = ["balk", "drum", "fizz", "gulp", "jeer", "kneel", "mope", "vow"]
    forms = [[stem + end for end in ("", "s", "ing", "able")] for stem in stems]
    rare = [stem + "ish" for stem in stems]
    words = ["</s>", "<unk>", *nouns, *[word for own in forms for word in own], *rare]
    number = {word: n for n, word in enumerate(words)}
    pairs = [(nouns[k], forms[k][rng.integers(4)]) for k in rng.integers(8, size=4000)]
    pairs[100:900:100] = zip(nouns, rare)
    tokens, info = write_stream(tmp_path, [number[w] for pair in pairs for w in pair], len(words))
    opened = Tokenizer(models.WordLevel(number, unk_token="<unk>"))
    opened.add_special_tokens(["</s>"])
    opened.save(str(job["tokenizer"]))
    recipe = RECIPE | {"order": "streams", "optimizer": "sgd", "momentum": 0, "learning_rate": 2.0}
    recipe |= {"batch_sequences": 20, "micro_batch": 20, "sequence_length": 10, "weight_decay": 0}
    recipe |= {"loss": "stream_sum", "steps": 120, "minimum_learning_rate": 2.0}
    shape = {"family": "recurrent", "layers": 1, "embedding": 16, "width": 17}
    shape["memory"] = {"form": "log_bilinear"}
    job |= {"architecture": shape, "bias": NONE, "tokens": tokens, "info": info}

    def of_rare(name, **vectors):
        out = tmp_path / name / "config.json"
        source = tmp_path / "drawn" / "model.safetensors" if vectors else None
        own = recipe | ({"vectors": {"of": "drawn"} | vectors} if vectors else {})
        train.main(**job | {"recipe": own, "out": out, "vectors": source})
        with torch.no_grad():
            log = checkpoints.load(out.parent)(torch.tensor([[number[n] for n in nouns]]).T)
        scores = log.logits[:, 0].log_softmax(-1)
        return -scores[range(8), [number[word] for word in rare]].mean().item()

    drawn, begun = of_rare("drawn"), of_rare("begun", compose=False)
    made = of_rare("made", similarity="jw", neighbours=4)
    assert made < min(drawn, begun) - 1, (drawn, begun, made)
