"""Words without a space between them, and texts that spell a special token."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import recency
from recency.errors import InputError
from recency.scoring import alignment, surprisal, texts
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model, score_words
from recency.scoring.texts import as_words
from small_networks import TEXTS, byte_tokenizer

CHINESE = ["我", "昨天", "看见", "了", "他", "。"]
ENGLISH, AFTER = ["She", "did", "n't", "go", "."], [True, False, True, False, True]


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer([*TEXTS, "".join(CHINESE), "She didn't go."])


@pytest.fixture(scope="module")
def network(tokenizer):
    torch.manual_seed(1)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 128, "initializer_range": 0.5}
    tokens = {"bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(vocab_size=tokenizer.get_vocab_size(), **sizes, **tokens)
    return GPT2LMHeadModel(config).eval()


def by_hand(network, ids):
    """Bits of each token of a text behind the begin token, in one pass."""
    with torch.no_grad():
        log = network(torch.tensor([[0, *ids]])).logits[0].log_softmax(-1)
    return [-log[place, token].item() / np.log(2) for place, token in enumerate(ids)]


@pytest.mark.parametrize("words, after", [(CHINESE, [False] * 6), (ENGLISH, AFTER)])
def test_the_text_is_scored_as_it_is_written(network, tokenizer, words, after):
    written = "".join(word + " " * space for word, space in zip(words, after)).rstrip()
    ids = tokenizer.encode(written, add_special_tokens=False).ids
    found = recency.surprisal([words], network, tokenizer, space_after=[after])
    assert found["word"].tolist() == words and found["tokens"].sum() == len(ids)
    assert found["surprisal_bits"].sum() == pytest.approx(sum(by_hand(network, ids)), abs=1e-3)
    spaced = recency.surprisal([words], network, tokenizer)
    assert abs(spaced["surprisal_bits"].sum() - found["surprisal_bits"].sum()) > 0.1


def test_a_column_of_the_table_says_the_same(network, tokenizer):
    texts, after = [CHINESE, ENGLISH], [[False] * 6, AFTER]
    expected = recency.surprisal(texts, network, tokenizer, space_after=after)
    table = as_words(texts).assign(space_after=np.concatenate(after))
    for column in (table["space_after"], table["space_after"].astype("boolean")):
        given = recency.surprisal(table.assign(space_after=column), network, tokenizer)
        pd.testing.assert_frame_equal(given.drop(columns="word_id"), expected)
    every = table.assign(space_after=True)
    plain = recency.surprisal(table.drop(columns="space_after"), network, tokenizer)
    pd.testing.assert_frame_equal(recency.surprisal(every, network, tokenizer), plain)


def test_the_workflow_takes_the_column(tmp_path, network, tokenizer):
    network.save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    table = as_words([ENGLISH], [AFTER])
    table.to_parquet(tmp_path / "words.parquet")
    surprisal.main(
        tmp_path / "words.parquet",
        LMSpec("lm", tmp_path, tmp_path / "tokenizer.json"),
        tmp_path / "out.parquet",
        "d",
    )
    expected = recency.surprisal([ENGLISH], network, tokenizer, space_after=[AFTER])
    found = pd.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_allclose(found["surprisal_bits"], expected["surprisal_bits"], atol=1e-4)


@pytest.mark.parametrize("variant", texts.VARIANTS)
def test_no_space_is_counted_where_none_follows(network, tokenizer, variant):
    settings = {"correction": variant}
    model = Model(network, tokenizer)
    result = score_words(as_words([CHINESE], [[False] * 6]), model, **settings)
    assert result.texts == 1 and result.discrepancy < 1e-6
    first = 1 if variant == "pimentel_meister_first" else 0  # it is given that a word begins a text
    both = result.table[["surprisal_bits", "corrected_bits"]].to_numpy()[first:]
    np.testing.assert_allclose(both[:, 0], both[:, 1])
    result = score_words(as_words([ENGLISH], [AFTER]), model, **settings)
    plain, corrected = result.table[["surprisal_bits", "corrected_bits"]].to_numpy().T
    assert result.discrepancy < 1e-6
    assert (np.abs(plain - corrected) > 0.01)[[2, 3]].all()  # "n't" and "go" gain and lose a space
    assert not result.ledger["reason"].eq(alignment.UNMARKED).any()
    joined = score_words([["the", "\u3042"]], model).ledger["reason"]
    assert set(joined) <= {alignment.UNMARKED, "has a character in several tokens"}


@pytest.mark.parametrize(
    "texts, after, message",
    [
        ([ENGLISH], [AFTER[:4]], r"^space_after of text 1 has 4 values for 5 words$"),
        ([ENGLISH], [AFTER, AFTER], r"^space_after has 2 lists for 1 texts$"),
        ([ENGLISH], [[True, 0, True, True, True]], r"^space_after of text 1, word 2: 0 is neither"),
        ([ENGLISH], AFTER, r"^space_after of text 1 is True, not a list$|has 5 lists for 1"),
        ([ENGLISH], "yes", r"^space_after is 'yes', not a list$"),
        (["She goes"], [[True, True]], r"^space_after of text 1: the text is a string"),
        (as_words([ENGLISH]), [AFTER], r"a data frame has it as a column$"),
        (as_words([ENGLISH]).assign(space_after=[True, None, True, True, True]), None, r"row 1: .*None"),
        (as_words([ENGLISH]).assign(space_after=[0, 1, 0, 1, 1]), None, r"row 0: .* is 0, neither"),
    ],
)  # fmt: skip
def test_what_is_no_truth_value_is_refused(network, tokenizer, texts, after, message):
    with pytest.raises(InputError, match=message) as error:
        recency.surprisal(texts, network, tokenizer, space_after=after)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "word", ["<|endoftext|>", "end<|endoftext|>.", "<|endoftext|><|endoftext|>"]
)
def test_the_string_of_a_special_token_is_text(network, tokenizer, word):
    words = ["the", word, "cat"]
    result = score_words([words], network, tokenizer)
    reasons = result.ledger[result.ledger["word"] == word]
    assert reasons["reason"].tolist() == ["has the special token's string <|endoftext|>"]
    assert reasons["treatment"].tolist() == ["is text"]
    assert result.ledger["reason"].str.contains("special").sum() == 1  # of no other word
    assert 0 not in alignment.align(words, tokenizer).ids
    pieces = [tokenizer.encode(part).ids for part in ("the ", "<", "|end")]
    assert result.table["tokens"][1] > len(pieces)
    tokenizer.encode_special_tokens = True
    ids = tokenizer.encode(" ".join(words), add_special_tokens=False).ids
    tokenizer.encode_special_tokens = False  # as it was, and as the caller has it again
    assert result.table["surprisal_bits"].sum() == pytest.approx(
        sum(by_hand(network, ids)), abs=1e-3
    )
    score_words([words], network, tokenizer)
    assert tokenizer.encode_special_tokens is False
    opened = recency.surprisal([words], network, tokenizer)
    np.testing.assert_array_equal(opened["surprisal_bits"], result.table["surprisal_bits"])


@pytest.mark.parametrize(
    "texts", ["the \ud83d cat", [["the", "\udc00cat"]], ["a", "b \ud83d\ud83d"]]
)
def test_half_a_surrogate_pair_is_refused(network, tokenizer, texts):
    with pytest.raises(InputError, match="half of a surrogate pair") as error:
        recency.surprisal(texts, network, tokenizer)
    assert "\n" not in str(error.value) and str(error.value).isprintable()
