"""Pseudo-log-likelihood of masked LMs against one forward pass per token, and against minicons."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

from recency.errors import InputError
from recency.scoring import masked
from recency.scoring.surprisal import Model, load, score_words

PIECES = [
    "the",
    "un",
    "##happ",
    "##y",
    "cat",
    "##s",
    "sat",
    "on",
    "mat",
    "well",
    "-",
    "known",
    "na",
    "##ive",
    "##r",
    "dog",
    ",",
    ".",
]
TEXT = [
    "the",
    "unhappy",
    "cats",
    "sat",
    "on",
    "well-known",
    "mat,",
    "the",
    "naiver",
    "dog",
    "sat",
    "on",
    "the",
    "unhappy",
    "mat.",
]
WINDOW = 12


@pytest.fixture(scope="module")
def tokenizer():
    vocabulary = {
        piece: n for n, piece in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    }
    vocabulary |= {piece: n for n, piece in enumerate(PIECES, 5)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    return tokenizer


@pytest.fixture(scope="module", params=["bert", "roberta"])
def model(request, tokenizer):
    torch.manual_seed(3)
    shape = {
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "pad_token_id": 0,
        "initializer_range": 0.3,
    }
    if request.param == "bert":
        return BertForMaskedLM(BertConfig(max_position_embeddings=64, **shape)).eval()
    # RoBERTa's positions begin behind that of the padding: 65 are 64 tokens.
    return RobertaForMaskedLM(RobertaConfig(max_position_embeddings=65, **shape)).eval()


def brute_force(words, model, tokenizer, metric, future, room):
    """Surprisal in bits of each word, one forward pass per token."""
    ids, owner = [], []
    for n, word in enumerate(words):
        found = tokenizer.encode(word, add_special_tokens=False).ids
        ids += found
        owner += [n] * len(found)
    total = np.zeros(len(words))
    for k, target in enumerate(ids):
        stop = max(j for j, each in enumerate(owner) if each == owner[k]) + 1
        hidden = {k} if metric == "original" else set(range(k, stop))
        end = len(ids)
        if future == "removed":
            end = max(hidden) + 1
        if future == "masked":
            hidden |= set(range(k, len(ids)))
        shown = [4 if j in hidden else each for j, each in enumerate(ids)][:end]
        begin = 0
        if end > room:
            begin = end - room if future == "removed" else min(max(0, k - room // 2), end - room)
        shown = shown[begin : begin + room]
        with torch.no_grad():
            logits = model(torch.tensor([[2, *shown, 3]])).logits[0, 1 + k - begin]
        total[owner[k]] -= torch.log_softmax(logits.double(), -1)[target].item() / np.log(2)
    return total


@pytest.mark.parametrize("metric", masked.METRICS)
@pytest.mark.parametrize("future", masked.FUTURES)
@pytest.mark.parametrize("window", [None, WINDOW])
def test_against_one_forward_pass_per_token(model, tokenizer, metric, future, window):
    settings = {"metric": metric, "future": future, "window": window}
    got = score_words([TEXT], model, tokenizer, **settings, tokens_at_once=64)
    room = (window or 64) - 2
    expected = brute_force(TEXT, model, tokenizer, metric, future, room)
    np.testing.assert_allclose(got.table["surprisal_bits"], expected, atol=1e-4)
    assert got.table["corrected_bits"].isna().all()
    assert got.table["tokens"].tolist()[:3] == [1, 3, 2]


def test_the_two_ways_to_hide_the_future_differ(model, tokenizer):
    """The thesis removed later tokens in chapter 8, masked them in chapter 9."""
    found = {
        future: score_words([TEXT], model, tokenizer, future=future).table["surprisal_bits"]
        for future in masked.FUTURES
    }
    assert np.abs(found["removed"] - found["masked"])[:-1].max() > 0.01
    # Nothing comes after the last word; before it, what comes after must not matter.
    changed = [*TEXT[:-1], "cat"]
    for future in ("removed", "masked"):
        # "mat." and "cat" have different lengths, which `masked` gives away, `removed` does not.
        other = score_words([changed], model, tokenizer, future=future).table["surprisal_bits"]
        same = np.abs(other - found[future])[:-1].max() < 1e-5
        assert same == (future == "removed")


def test_a_folder_is_known_to_be_masked(model, tokenizer, tmp_path):
    model.save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    loaded = load(tmp_path, tmp_path / "tokenizer.json")
    assert loaded.masked
    got = score_words([TEXT], loaded).table
    expected = score_words([TEXT], Model(model, tokenizer, masked=True)).table
    np.testing.assert_allclose(got["surprisal_bits"], expected["surprisal_bits"], atol=1e-4)


def test_rewritten_words_are_in_the_ledger(model, tokenizer):
    got = score_words([["The", "Na\u00efver", "cat"]], model, tokenizer)
    assert got.ledger["reason"].tolist() == ["is read as 'the'", "is read as 'naiver'"]


def test_settings_are_checked(model, tokenizer):
    with pytest.raises(InputError, match="metric 'pll' is none of within_word_l2r, original"):
        score_words([TEXT], model, tokenizer, metric="pll")
    with pytest.raises(InputError, match="no room for text"):
        score_words([TEXT], model, tokenizer, window=2)
    bare = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    with pytest.raises(InputError, match="no mask token"):
        score_words("a", model, bare)
