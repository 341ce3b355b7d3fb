"""Word surprisal against one forward pass per word, and the whitespace correction by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from job import InputError
from lm import alignment, network, scoring
from surprisal import word_surprisal
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

MIX = {"form": "linear", "slopes": "mix"}
TINY = dict(layers=2, heads=4, width=32, feed_forward=64, context=16, rotary_fraction=0.25)
TEXTS = [
    'The cat\u2019s well-known "friends" didn\'t sit (on 3.5 mats), naïvely.',
    "So it goes.",
    " ".join(["a long text of many words goes on and on"] * 6),
    "Word",
    "日本 語 🙂 end",
]


@pytest.fixture(scope="module")
def tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    return tokenizer


def as_words(texts):
    rows = [(str(n), word) for n, text in enumerate(texts) for word in text.split()]
    words = pd.DataFrame(rows, columns=["item", "word"])
    words["word_id"] = np.arange(len(words), dtype=np.int32)
    return words


@pytest.fixture(scope="module", params=[{"form": "none"}, MIX, {"form": "primacy_recency"}])
def model(request, tokenizer):
    network_ = network.new(TINY, request.param, tokenizer.get_vocab_size(), 1).eval()
    with torch.no_grad():
        network_.lm_head.weight *= 30  # sharper than a fresh network
    return network_


def brute_force(texts, model, tokenizer, bos, stride, size):
    """Surprisal in bits of each word, one forward pass per token, in float64."""
    model = model.double()
    bits = []
    for text in texts:
        words = text.split()
        ids, owner = [], []
        for n, word in enumerate(words):
            for token in tokenizer.encode(" " * (n > 0) + word, add_special_tokens=False).ids:
                ids.append(token)
                owner.append(n)
        stream = [0] * bos + ids
        total = np.zeros(len(words))
        for k in range(len(ids)):
            place = k + bos  # tokens of the stream before token k
            end = size + max(0, -(-(place - size) // stride)) * stride
            begin = max(0, end - size)
            context = stream[begin:place]
            if not context:
                total[owner[k]] = np.nan
                continue
            # Windows are cut before scoring, so a form that uses the length sees all of its keys.
            window = torch.tensor([stream[begin : min(end, len(stream))]])
            with torch.no_grad():
                logits = model(window).logits[0, len(context) - 1]
            total[owner[k]] -= torch.log_softmax(logits, -1)[ids[k]].item() / np.log(2)
        bits.append(total)
    model.float()
    return np.concatenate(bits)


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("stride", [None, 1, 5, 16])
def test_against_one_forward_pass_per_token(model, tokenizer, bos, stride):
    got = word_surprisal(as_words(TEXTS), model, tokenizer, bos, stride)
    expected = brute_force(TEXTS, model, tokenizer, bos, stride or 8, 16)
    np.testing.assert_allclose(got["surprisal_bits"], expected, atol=1e-4)
    assert got["surprisal_bits"].isna().sum() == (0 if bos else len(TEXTS))
    assert (got["tokens"] >= 1).all()


def test_correction_by_hand(monkeypatch, tokenizer):
    """SCIENCE's example: P_B(c) = .5, p(Ġmat) = .5, p(ron | Ġmat) = .8, P_B after mat .2, then 1."""
    ids = np.array([5, 6, 7])
    text = alignment.Text(ids, np.array([0, 1, 1]), 2)
    scores = scoring.Scores(
        np.log([0.25, 0.5, 0.8]), np.log([1.0, 0.5, 0.2, 1.0]), np.arange(3, dtype=np.int32)
    )
    monkeypatch.setattr(alignment, "align", lambda *a: text)
    monkeypatch.setattr(scoring, "score", lambda *a, **k: [scores])
    words = pd.DataFrame({"item": "1", "word": ["the", "matron"], "word_id": [0, 1]})
    got = word_surprisal(words, None, tokenizer)
    assert got["surprisal_bits"].round(4).tolist() == [2.0, 1.3219]
    # "the" pays for the space behind it, which P_B(c) = .5 gives it; "matron" gets that bit back.
    assert got["corrected_bits"].round(4).tolist() == [3.0, 0.3219]
    scores.log_initial[2:] = np.log([0.2, 1.0])
    scores.log_probability[2] = np.nan  # the text "mat" alone
    text.ids, text.word = ids[:2], text.word[:2]
    scores = scoring.Scores(scores.log_probability[:2], scores.log_initial[:3], scores.context[:2])
    monkeypatch.setattr(scoring, "score", lambda *a, **k: [scores])
    got = word_surprisal(words, None, tokenizer)
    assert got["surprisal_bits"].round(4).tolist() == [2.0, 1.0]
    assert got["corrected_bits"].round(4).tolist() == [3.0, 2.3219]


def test_correction_is_a_probability(model, tokenizer):
    """Corrected probabilities of all words that may follow never add up to more than one."""
    got = word_surprisal(as_words(TEXTS), model, tokenizer)
    assert (got["corrected_bits"] > -1e-4).all()


def test_words_of_many_scripts_are_aligned(tokenizer):
    for text in TEXTS:
        words = text.split()
        aligned = alignment.align(words, tokenizer)
        for n, word in enumerate(words):
            pieces = tokenizer.decode(aligned.ids[aligned.word == n].tolist())
            assert pieces.strip() == word


def test_a_word_without_tokens_is_refused(tokenizer):
    with pytest.raises(InputError, match=r"item 3: word 2 \(''\) is empty"):
        alignment.align(["a", "", "b"], tokenizer, "item 3: ")


def test_word_initial_tokens(tokenizer):
    mask = alignment.word_initial(tokenizer)
    tokens = [tokenizer.id_to_token(n) for n in np.flatnonzero(mask)]
    assert "<|endoftext|>" in tokens and "Ġ" in tokens
    assert all(token.startswith("Ġ") or token == "<|endoftext|>" for token in tokens)


def test_memory_bound_does_not_change_scores(model, tokenizer):
    words = as_words(TEXTS)
    one = word_surprisal(words, model, tokenizer, tokens_at_once=1)
    many = word_surprisal(words, model, tokenizer, tokens_at_once=10_000)
    np.testing.assert_allclose(one["surprisal_bits"], many["surprisal_bits"], atol=1e-4)


def test_no_bos_token(model, tokenizer):
    bare = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    with pytest.raises(InputError, match="set `bos: false`"):
        word_surprisal(as_words(["a"]), model, bare)
