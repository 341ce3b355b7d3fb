"""CDLM: by its formula in plain loops, what it learns that an n-gram cannot, grown from a smaller one."""

import numpy as np
import pandas as pd
import pytest
import torch
from test_ngrams import program

from recency.errors import InputError
from recency.scoring import estimate_ngrams, ngram, train_cdlm


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Write sentences whose fourth word is told by the first alone, and 3-grams of them."""
    folder = tmp_path_factory.mktemp("cdlm")
    rng = np.random.default_rng(3)
    for name, size in (("train", 600), ("valid", 150)):
        first = rng.integers(0, 6, size)
        between = rng.integers(0, 8, (size, 2))
        lines = [
            f"a{a} m{b} n{c} z{a} e" for a, (b, c) in zip(first, between, strict=True)
        ]  # fmt: skip
        pd.DataFrame({"document": ["1"], "text": ["\n".join(lines)]}).to_parquet(folder / name)
    estimate_ngrams.main(
        folder / "train", folder / "3.arpa", "100M", order=3, lmplz=program("lmplz")
    )
    return folder


def drawn(base, matrices, width=5):
    rng = np.random.default_rng(0)
    size = len(base.words)
    return ngram.Model(
        base,
        *(rng.normal(0, 0.3, (rows, width)) for rows in (size, size + 1)),
        rng.normal(0, 0.3, (matrices, width, width)),
    )


def test_the_base_is_the_n_gram_model(text):
    base = ngram.read_base(text / "3.arpa")
    sentence = ["a1", "m2", "n3", "z1", "e", "</s>", "new", "m0"]
    expected = ngram.score(text / "3.arpa", [sentence])[0].log10
    contexts, words = ngram.training_examples(base, [base.ids(sentence)], 2)
    found = base.distributions(contexts)
    np.testing.assert_allclose(found[range(8), words] / np.log(10), expected, atol=1e-9)
    np.testing.assert_allclose(np.exp(found).sum(1), 1, atol=1e-4)  # as KenLM writes them


def test_surprisal_is_the_formula_s(text, tmp_path):
    """P = p_3 exp(E·(v + Σ T v)) / Z, word by word; the file opens as an n-gram model does."""
    base = ngram.read_base(text / "3.arpa")
    model = drawn(base, matrices=2)
    model.save(tmp_path / "model")
    assert ngram.is_ngram(tmp_path / "model") and not ngram.is_model(text / "3.arpa")
    sentences = [["a1", "m2", "n3", "z1", "e", "</s>"], [], ["e", "zebra", "a0"]]
    scored = ngram.score(tmp_path / "model", sentences)
    E, v, T = (getattr(model, name).astype(np.float32).astype(float) for name in ngram.FIELDS)
    vocabulary = [*base.words]
    for sentence, found in zip(sentences, scored, strict=True):
        known = [word if word in vocabulary else "<unk>" for word in sentence]
        stream = ["<s>"] * 5 + known
        for place, word in enumerate(known):
            before = stream[: place + 5]
            v_of = [v[(vocabulary + ["<s>"]).index(each)] for each in reversed(before)]
            s = v_of[2] + T[0] @ v_of[3] + T[1] @ v_of[4]
            p = np.array(
                [
                    10 ** ngram.score(text / "3.arpa", [[*known[:place], w]])[0].log10[-1]
                    for w in vocabulary
                ]
            ) * np.exp(E @ s)
            p /= p.sum()
            assert found.log10[place] == pytest.approx(
                np.log10(p[vocabulary.index(word)]), abs=1e-6
            )
    assert scored[2].known == [True, False, True] and scored[1].log10 == []
    with pytest.raises(InputError, match="reads <s> before each text"):
        ngram.score(tmp_path / "model", sentences, bos=False)


def test_the_gradient_is_that_of_the_surprisal(text):
    base = ngram.read_base(text / "3.arpa")
    model = drawn(base, matrices=1)
    contexts, words = ngram.training_examples(
        base, [base.ids(["a1", "m2", "n3", "z1", "e"])], model.reach
    )
    tensors = {name: torch.tensor(getattr(model, name).astype("f4"), requires_grad=True) for name in ngram.FIELDS}  # fmt: skip
    train_cdlm.loss(base, tensors, contexts, words).backward()
    rng = np.random.default_rng(5)
    for name in ngram.FIELDS:
        way = rng.normal(size=getattr(model, name).shape)
        sides = []
        for sign in (1e-4, -1e-4):
            moved = drawn(base, matrices=1)
            setattr(moved, name, getattr(moved, name) + sign * way)
            sides.append(moved.nats(contexts, words).mean())
        slope = (tensors[name].grad.numpy() * way).sum()
        assert slope == pytest.approx((sides[0] - sides[1]) / 2e-4, rel=1e-3, abs=1e-5)


def test_it_learns_what_a_3_gram_cannot_see(text, tmp_path):
    """The word three back tells the next: from ln 6 nats to near none; grown, it is no worse."""
    told = text / "train", text / "valid", text / "3.arpa"
    settings = {"width": 8, "learning_rate": 0.3, "batch": 50}
    train_cdlm.main(*told, tmp_path / "4", span=4, epochs=6, **settings)
    base = ngram.read_base(text / "3.arpa")
    held = train_cdlm.read_sentences(text / "valid", base)

    def told_by_first(model):
        contexts, words = ngram.training_examples(base, held, model.reach)
        return model.nats(contexts, words)[3::6].mean()

    without = ngram.Model(base, *(np.zeros((len(base.words) + n, 1)) for n in (0, 1)), np.zeros((0, 1, 1)))  # fmt: skip
    four = ngram.load(tmp_path / "4")
    assert told_by_first(without) > 0.9 * np.log(6) and told_by_first(four) < 0.2
    train_cdlm.main(
        *told, tmp_path / "5", span=5, epochs=1, grown_from=[tmp_path / "4"], **settings
    )
    five = ngram.load(tmp_path / "5")
    assert (five.E == four.E).all() and (five.v == four.v).all() and five.T.shape == (1, 8, 8)
    examples = (ngram.training_examples(base, held, each.reach) for each in (four, five))
    before, after = (m.nats(*each).mean() for m, each in zip((four, five), examples, strict=True))
    assert after <= before + 1e-6
    with pytest.raises(InputError, match="has range 4 or another n-gram model; this grows range 5"):
        train_cdlm.main(*told, tmp_path / "6", span=6, grown_from=[tmp_path / "4"])
