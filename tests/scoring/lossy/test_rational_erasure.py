"""Resource-rational retention against a grid search, and its budget against a sum."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from recency.errors import InputError
from recency.scoring.surprisal import Model, score_words
from small_networks import byte_tokenizer

TEXTS = ["a dog saw the cat", "it was the new one", "the cat saw a dog"]


@pytest.fixture(scope="module")
def opened():
    torch.manual_seed(5)
    tokenizer = byte_tokenizer(TEXTS, 290)
    config = transformers.GPT2Config(
        vocab_size=290, n_embd=16, n_layer=2, n_head=4, n_positions=64, initializer_range=0.5
    )
    return Model(transformers.GPT2LMHeadModel(config).eval().double(), tokenizer)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def expected_bits(opened, values):
    """Return intercept, slope → mean bits of all words with a context, by all subsets of each."""
    tokens = [opened.tokenizer.encode(" " * (n > 0) + w).ids for n, w in
              [(n, w) for text in TEXTS for n, w in enumerate(text.split())]]  # fmt: skip
    tokens = [tokens[5 * n : 5 * n + 5] for n in range(3)]
    cases = []
    for item, words in enumerate(tokens):
        for target in range(1, 5):
            for kept in itertools.product([0, 1], repeat=target):
                before = [0, *itertools.chain(*(w for w, k in zip(words, kept) if k))]
                ids = torch.tensor([before + words[target]])
                with torch.no_grad():
                    log = opened.network(ids).logits[0].log_softmax(-1)
                at = len(before) - 1
                bits = -sum(log[at + n, t].item() for n, t in enumerate(words[target]))
                x = np.array([values(item, target, j) for j in range(target)])
                cases.append((x, np.array(kept), bits / math.log(2)))

    def mean(intercept, slope):
        total = 0.0
        for x, kept, bits in cases:
            q = logistic(intercept + slope * x)
            total += np.where(kept, q, 1 - q).prod() * bits
        return total / 12

    return mean


@pytest.mark.parametrize("feature", ["distance", "frequency"])
@pytest.mark.parametrize("budget", [{"share": 0.4}, {"words": 0.8}])
def test_the_optimum_of_a_grid_search(opened, feature, budget):
    """One feature: slopes on a fine grid, the intercept of each solved for by itself."""
    rows = [(str(n), word) for n, text in enumerate(TEXTS) for word in text.split()]
    words = pd.DataFrame(rows, columns=["item", "word"])
    words["unigram_bits"] = [2 + 0.7 * len(word) + 0.01 * n for n, (_, word) in enumerate(rows)]
    zipf = (9 - words.unigram_bits * math.log10(2)).to_numpy().reshape(3, 5)

    def values(item, target, j):
        return math.log(target - j) if feature == "distance" else zipf[item, j]

    x = np.array([values(i, t, p) for i in range(3) for t in range(1, 5) for p in range(t)])
    wanted = budget["share"] * len(x) if "share" in budget else budget["words"] * 12

    def intercept(slope):
        low, high = -2000.0, 2000.0
        while high - low > 1e-10:
            middle = (low + high) / 2
            enough = logistic(middle + slope * x).sum() > wanted
            low, high = (low, middle) if enough else (middle, high)
        return low

    erasure = {"form": "resource_rational", "features": [feature], "budget": budget}
    result = score_words(words, opened, lossy={"erasure": erasure | {"evaluations": 60}})
    weights = result.table.attrs["lossy"]["erasure"]
    slope = weights["slopes"][feature]
    assert weights["intercept"] == pytest.approx(intercept(slope), abs=1e-6)
    mean = expected_bits(opened, values)
    grid = np.linspace(-8, 8, 161) / x.std()
    best = min(mean(intercept(s), s) for s in grid)
    reached = mean(weights["intercept"], slope)
    assert reached <= best + 1e-3
    assert reached < mean(intercept(0.0), 0.0) - 0.01  # it matters
    note = next(note for note in result.notes if note.startswith("resource-rational"))
    assert f"{reached:.4g} bits" in note
    again = score_words(words, opened, lossy={"erasure": erasure | {"evaluations": 60}})
    pd.testing.assert_frame_equal(again.table, result.table)
    # What was found is a form by itself.
    fixed = score_words(words, opened, lossy={"erasure": weights})
    np.testing.assert_array_equal(fixed.table.surprisal_bits, result.table.surprisal_bits)


def test_draws_are_common_to_all_slopes(opened):
    """With fewer patterns than a context has, the search is the same twice and meets its budget."""
    text = " ".join(TEXTS)
    erasure = {"form": "resource_rational", "features": ["distance", "position"], "patterns": 8}
    lossy = {"erasure": erasure | {"budget": {"share": 0.3}, "evaluations": 25}, "reach": 10}
    first, second = (score_words(text, opened, lossy=lossy) for _ in range(2))
    assert first.table.attrs == second.table.attrs
    weights = first.table.attrs["lossy"]["erasure"]
    retained, total = 0.0, 0
    for target in range(15):
        for j in range(max(0, target - 10), target):
            score = weights["slopes"]["distance"] * math.log(target - j)
            score += weights["slopes"]["position"] * (j + 1)
            retained += logistic(weights["intercept"] + score)
            total += 1
    assert retained / total == pytest.approx(0.3, abs=1e-6)


def test_given_slopes_meet_the_budget_without_a_search(opened):
    erasure = {"form": "resource_rational", "slopes": {"distance": -1.5}, "budget": {"share": 0.5}}
    result = score_words(TEXTS, opened, lossy={"erasure": erasure})
    weights = result.table.attrs["lossy"]["erasure"]
    assert weights["slopes"] == {"distance": pytest.approx(-1.5)}
    distances = np.array([d for d in (1, 2, 3, 4) for _ in range(5 - d)])
    q = logistic(weights["intercept"] - 1.5 * np.log(distances))
    assert q.mean() == pytest.approx(0.5, abs=1e-6)


def test_texts_without_contexts_are_refused(opened):
    erasure = {"form": "resource_rational", "features": ["distance"], "budget": {"share": 0.5}}
    with pytest.raises(InputError, match="no word has a context"):
        score_words(["one", "two"], opened, lossy={"erasure": erasure})
