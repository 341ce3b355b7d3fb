"""A row a token: its characters in the text, and measures that add up to those of the words."""

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import recency
from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import measures
from recency.scoring.surprisal import Model
from small_networks import NONE, TINY, byte_tokenizer

TEXTS = [
    "  The cat’s\t well-known \n\n friends 🙂 didn’t\u00a0sit, naïvely.\n",
    "So it goes and goes.",
]
ASKED = {"measures": ["entropy", "entropy_reduction", "rank", "pmi"], "context": [1]}


def sentencepiece():
    """Make a tokenizer that writes the space as ▁, without bytes for what it does not know."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    made.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=120, special_tokens=["<unk>", "<|endoftext|>"], show_progress=False
    )
    made.train_from_iterator([" ".join(text.split()) for text in TEXTS] * 3, trainer)
    return made


@pytest.fixture(scope="module", params=[lambda: byte_tokenizer(TEXTS, 300), sentencepiece])
def model(request):
    tokenizer = request.param()
    network = architectures.new(TINY, NONE, tokenizer.get_vocab_size(), 1).eval()
    with torch.no_grad():
        network.lm_head.weight *= 30
    return Model(network, tokenizer)


def rows(texts, model, **settings):
    return recency.surprisal(texts, model, rows="tokens", **settings)


def test_columns(model):
    found = rows(TEXTS, model, **ASKED, unit="nats")
    assert list(found) == [
        *("item", "position", "word", "token", "token_id", "start", "end", "surprisal_nats"),
        *("context_tokens", *measures.columns(ASKED["measures"], [1], "nats")),
    ]
    tokens = [model.tokenizer.id_to_token(number) for number in found["token_id"]]
    assert found["token"].tolist() == tokens
    assert found.index.tolist() == list(range(len(found)))
    assert list(rows([], model, **ASKED, unit="nats")) == list(found)
    frame = pd.DataFrame({"item": "s", "word": ["So", "it"], "word_id": [7, 9]}, index=[3, 1])
    given = rows(frame, model)
    assert list(given)[:4] == ["item", "position", "word_id", "word"]
    assert set(given["word_id"]) == {7, 9} and given.index[0] == 0


def test_offsets_are_those_of_the_text_that_was_given(model):
    """The characters of a word's tokens are the word, in a text with white space of any kind."""
    found = rows(TEXTS, model)
    for (item, _), part in found.groupby(["item", "position"]):
        text = TEXTS[int(item) - 1]
        assert text[part["start"].min() : part["end"].max()].strip() == part["word"].iloc[0]
    for item, part in found.groupby("item"):
        text = TEXTS[int(item) - 1]
        assert (part["start"].diff().dropna() >= 0).all() and part["start"].iloc[0] >= 0
        covered = {place for a, b in zip(part["start"], part["end"]) for place in range(a, b)}
        assert {place for place, each in enumerate(text) if not each.isspace()} <= covered
        assert (part["end"] <= len(text)).all() and (part["end"] > part["start"]).all()


@pytest.mark.parametrize("leading_space", [False, True])
def test_offsets_of_words_in_lists_are_those_of_the_joined_words(model, leading_space):
    words = [["So", "it", "goes", "and", "goes."]]
    whole = rows(" ".join(words[0]), model, leading_space=leading_space)
    pd.testing.assert_frame_equal(rows(words, model, leading_space=leading_space), whole)
    joined = rows(words, model, space_after=[[True, False, True, True, True]])
    text = "So itgoes and goes."
    for _, part in joined.groupby("position"):
        assert text[part["start"].min() : part["end"].max()].strip() == part["word"].iloc[0]


def test_a_string_and_a_list_of_words_together(model):
    found = rows([TEXTS[0], ["So", "it"]], model)
    part = found[found["item"] == "2"]
    assert part["start"].iloc[0] == 0 and part["end"].iloc[-1] == 5
    assert found["start"].iloc[0] <= 2  # behind the two spaces, or with one of them


@pytest.mark.parametrize("settings", [{}, {"bos": False}, {"bos": False, "first_word": "rest"}])
def test_tokens_add_up_to_words(model, settings):
    asked = dict(ASKED) if settings == {} else {"measures": ["entropy", "rank"], "context": [1]}
    words = recency.surprisal(TEXTS, model, **asked, **settings)
    tokens = rows(TEXTS, model, **asked, **settings)
    by_word = tokens.groupby(["item", "position"])
    total = by_word.sum(numeric_only=True)
    sums = [
        name
        for name in ("surprisal_bits", "pmi_bits", "surprisal_context_1_bits")
        if name in tokens
    ]
    for name in sums:
        expected, found = words[name].to_numpy(), total[name].to_numpy()
        if settings.get("first_word") != "rest":
            found = np.where(np.isnan(expected), np.nan, found)
        np.testing.assert_allclose(found, expected, atol=1e-9, err_msg=name)
    first = by_word.nth(0)
    for name in ("entropy_bits", "rank"):
        np.testing.assert_array_equal(first[name], words[name])
    np.testing.assert_array_equal(by_word.size(), words["tokens"])
    if settings:
        assert tokens.groupby("item").nth(0)["surprisal_bits"].isna().all()
    else:
        at = tokens["entropy_bits"].to_numpy()
        same = tokens["item"].to_numpy()[1:] == tokens["item"].to_numpy()[:-1]
        falls = np.maximum(0, at[:-1] - at[1:])
        np.testing.assert_allclose(tokens["entropy_reduction_bits"][:-1][same], falls[same])


def test_a_frame_can_say_where_its_words_begin(model):
    frame = pd.DataFrame({"item": "a", "word": ["So", "it"], "start_character": [10, 20]})
    found = rows(frame, model)
    assert found["start"].iloc[0] == 10 and found["end"].iloc[-1] == 22
    with pytest.raises(InputError, match="start_character is not a whole number"):
        rows(frame.assign(start_character=[0.5, 2]), model)


def test_a_token_of_two_words_stands_once():
    """It counts for the first, as in the words' table, and reaches to the end of the second."""
    made = Tokenizer(
        models.BPE({"a": 0, "Ġ": 1, "b": 2, "Ġb": 3, "aĠb": 4}, [("Ġ", "b"), ("a", "Ġb")])
    )
    made.normalizer = normalizers.Replace(" ", "Ġ")
    network = architectures.new(TINY, NONE, 5, 1).eval()
    found = rows("a   b", Model(network, made), bos=False)
    assert found[["position", "token", "start", "end"]].values.tolist() == [[1, "aĠb", 0, 5]]
