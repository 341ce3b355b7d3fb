"""Surprisal of recurrent LMs: one pass over a text of any length, the same as one word at a time."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import alignment, inner_states
from recency.scoring.surprisal import Model, score_words
from small_networks import byte_tokenizer

SHAPE = {"family": "recurrent", "layers": 2, "width": 16, "embedding": 12}
MEMORIES = [
    {"form": "fofe", "half_lives": [1, 200], "window": 3},
    {"form": "srnn", "context": "word"},
    {"form": "gru"},
    {"form": "lsrc"},
    {"form": "state_space", "selective": True},
]
TEXTS = [
    " ".join(["a long text of many words goes on and on"] * 40),
    "Word",
    "So it goes.",
    " ".join(["it is shorter"] * 30),
]
NONE = {"form": "none"}


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer(TEXTS, 300)


def network(memory, vocabulary):
    model = architectures.new(SHAPE | {"memory": memory}, NONE, vocabulary, 1).eval()
    with torch.no_grad():
        model.lm_head.weight *= 30  # sharper than a fresh network
        model.model.embedding.weight *= 30
    return model


def one_at_a_time(model, tokenizer, text, bos):
    """Bits of each word, each token scored by itself in float64, the state handed on."""
    words, ids, owner = text.split(), [], []
    for number, word in enumerate(words):
        for token in tokenizer.encode(" " * (number > 0) + word, add_special_tokens=False).ids:
            ids.append(token)
            owner.append(number)
    bits, state, logits = np.zeros(len(words)), None, None
    if bos:
        output = model(torch.tensor([[0]]))
        state, logits = output.state, output.logits[0, -1]
    for token, number in zip(ids, owner):
        if logits is None:
            bits[number] = np.nan
        else:
            bits[number] -= logits.log_softmax(-1)[token].item() / np.log(2)
        output = model(torch.tensor([[token]]), state=state)
        state, logits = output.state, output.logits[0, -1]
    return bits


@pytest.mark.merge
@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("memory", MEMORIES)
def test_one_pass_is_one_word_at_a_time(memory, bos, tokenizer):
    model = network(memory, tokenizer.get_vocab_size()).double()
    with torch.inference_mode():
        expected = np.concatenate([one_at_a_time(model, tokenizer, text, bos) for text in TEXTS])
    for at_once in (None, 64, 300):
        got = score_words(TEXTS, model, tokenizer, bos=bos, tokens_at_once=at_once).table
        np.testing.assert_allclose(got.surprisal_bits, expected, rtol=0, atol=1e-9)
    assert got.context_tokens[0] == (1 if bos else 0)
    assert got.context_tokens[359] == got.tokens[:359].sum() + bos


def test_measures_and_short_contexts_are_those_of_any_lm(tokenizer):
    model = network(MEMORIES[2], tokenizer.get_vocab_size())
    table = score_words(
        TEXTS, model, tokenizer, measures=["entropy"], context=[1, 400], correction="oh_schuler"
    ).table
    np.testing.assert_allclose(table.surprisal_context_400_bits, table.surprisal_bits, atol=1e-4)
    assert not np.allclose(table.surprisal_context_1_bits, table.surprisal_bits, atol=0.1)
    assert table.entropy_bits.between(0, np.log2(300)).all()
    assert np.isfinite(table.corrected_bits).all()


@pytest.mark.parametrize("setting", ["stride", "window"])
def test_windows_are_refused(setting, tokenizer):
    model = network(MEMORIES[2], tokenizer.get_vocab_size())
    with pytest.raises(
        InputError, match=f"`{setting}: 8`: .* reads a text of any length in one pass"
    ):
        score_words(TEXTS, model, tokenizer, **{setting: 8})


def test_unknown_words_have_the_probability_of_the_unknown_word():
    entries = {"</s>": 0, "<unk>": 1, "the": 2, "cat": 3}
    words = Tokenizer(models.WordLevel(entries, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.add_special_tokens(["</s>"])
    model = network(MEMORIES[2], 4).double()
    result = score_words("the aardvark cat", Model(model, words, bos_token="</s>"))
    with torch.inference_mode():
        log = model(torch.tensor([[0, 2, 1]])).logits[0].log_softmax(-1)
    expected = -log[range(3), [2, 1, 3]].numpy() / np.log(2)
    np.testing.assert_allclose(result.table.surprisal_bits, expected, atol=1e-9)
    assert result.ledger[["word", "reason", "treatment"]].to_numpy().tolist() == [
        ["aardvark", "has the unknown token", "kept"]
    ]


def test_hidden_states_are_means_over_the_tokens_of_a_word(tokenizer):
    shape = SHAPE | {"embedding": 16, "memory": {"form": "gru"}}
    model = architectures.new(shape, NONE, tokenizer.get_vocab_size(), 1).eval()
    texts = [alignment.align(text.split(), tokenizer) for text in TEXTS[1:]]
    got = inner_states.word_states(model, texts, [0, 1, 2], bos=0)
    with torch.no_grad():
        ids = torch.tensor([[0, *texts[1].ids]])
        layers = model.model(ids, output_hidden_states=True).hidden_states
    own = np.flatnonzero(texts[1].word == 1) + 1
    for number, states in enumerate(layers):
        np.testing.assert_allclose(got[number, 2], states[0, own].mean(0), atol=1e-6)
    with pytest.raises(InputError, match="layer 0 are 12 wide, others 16"):
        narrow = network({"form": "gru"}, tokenizer.get_vocab_size())
        inner_states.word_states(narrow, texts, [0], bos=0)
