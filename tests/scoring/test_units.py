"""Surprisal of units against sums over a tiny network's tokens in float64."""

import numpy as np
import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel

import recency

#: An end, letters, the bytes of é, è and ô, and beginnings of words.
ENTRIES = ["<|endoftext|>", "a", "b", "Ã", "©", "Ġ", "Ġa", "ab", "Ġab", "Ġb", "©Ã", "¨"]
SPACES = [n for n, entry in enumerate(ENTRIES) if entry[0] == "Ġ"]


@pytest.fixture(scope="module")
def tokenizer():
    merges = [("Ġ", "a"), ("a", "b"), ("Ġa", "b"), ("Ġ", "b"), ("©", "Ã")]
    made = Tokenizer(models.BPE({e: n for n, e in enumerate(ENTRIES)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return made


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    about = {"vocab_size": len(ENTRIES), "bos_token_id": 0, "eos_token_id": 0, "n_positions": 32}
    made = GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=1, n_head=2, **about))
    with torch.no_grad():
        made.get_output_embeddings().weight *= 9.0
    return made.eval()


def brute_force(network, entries, units):
    """Return the surprisal of units in bits, plain and corrected, from lists of token strings.

    A space before a unit, or the text's end after it, makes a boundary of words there.
    """
    ids = [0, *(ENTRIES.index(entry) for of_unit in entries for entry in of_unit)]
    with torch.no_grad():
        logits = network.double()(torch.tensor([ids])).logits[0]
    network.float()
    p = torch.log_softmax(logits, -1).exp().numpy()
    at, plain, corrected = 0, [], []
    for number, of_unit in enumerate(entries):
        end = at + len(of_unit)
        value = np.prod([p[k, ids[k + 1]] for k in range(at, end)])
        plain.append(-np.log2(value))
        if number and units[number].startswith(" "):
            value /= p[at, [0, *SPACES]].sum()
        if number == len(entries) - 1 or units[number + 1].startswith(" "):
            value *= p[end, [0, *SPACES]].sum()
        corrected.append(-np.log2(value))
        at = end
    return np.array([plain, corrected])


CASES = {
    "morphemes": (["ab", "a", " ab", "b"], [["ab"], ["a"], ["Ġab"], ["b"]]),
    "phrases": (["aba ab", " bab a"], [["ab", "a", "Ġab"], ["Ġb", "ab", "Ġa"]]),
    "characters": (["b", "b", "é", " b"], [["b"], ["b"], ["Ã", "©"], ["Ġb"]]),
}


@pytest.mark.parametrize("name", CASES)
def test_units_are_sums_over_tokens(name, network, tokenizer):
    units, entries = CASES[name]
    text = "".join(units)
    table = recency.surprisal(text, network, tokenizer, units=units)
    assert table.unit.tolist() == units and table.position.tolist() == [*range(1, len(units) + 1)]
    assert [text[a:b] for a, b in zip(table.start, table.end)] == units
    assert table.tokens.tolist() == [*map(len, entries)]
    expected = brute_force(network, entries, units)
    np.testing.assert_allclose(table[["surprisal_bits", "corrected_bits"]].T, expected, atol=1e-5)
    words = recency.surprisal(text, network, tokenizer)
    assert table.corrected_bits.sum() == pytest.approx(words.corrected_bits.sum(), abs=1e-5)


def test_text_between_spans_is_context(network, tokenizer):
    text = "ab  aba bab\n a"
    spans = [(2, 6), (6, 7), (8, 11)]
    table = recency.surprisal(text, network, tokenizer, units=spans, measures="entropy")
    units = ["ab ", " ab", "a", " bab\n", " a"]
    whole = recency.surprisal(text, network, tokenizer, units=units, measures="entropy")
    columns = ["surprisal_bits", "corrected_bits", "tokens", "context_tokens", "entropy_bits"]
    assert table.unit.tolist() == ["  ab", "a", "bab"] and table.item.tolist() == ["1"] * 3
    np.testing.assert_allclose(table[columns], whole[columns].iloc[1:4], atol=1e-6)
    words = recency.surprisal(text, network, tokenizer, measures="entropy")
    np.testing.assert_allclose(table[columns].iloc[2], words[columns].iloc[2], atol=1e-6)


def test_units_of_words_are_words_also_after_a_prefix(network, tokenizer):
    texts, units = ["ab aba b", "b"], [["ab ", "aba ", "b"], ["b"]]
    for prefix in ("", "bab a"):
        given = recency.surprisal(texts, network, tokenizer, units=units, prefix=prefix)
        words = recency.surprisal(texts, network, tokenizer, prefix=prefix)
        assert given.item.tolist() == words["item"].tolist()
        np.testing.assert_array_equal(given.corrected_bits, words.corrected_bits)


@pytest.mark.parametrize(
    ("text", "units", "message"),
    [
        ("ab b", ["a", "b", " b"], "the token 'ab' begins in the unit 'a' and reaches into 'b'"),
        ("éè", ["é", "è"], "the token '©Ã' begins in the unit 'é' and reaches into 'è'"),
        ("é", [b"\xc3", b"\xa9"], "unit 1: .* has bytes, which cut characters"),
        ("ab b", ["ab", "b"], "unit 2: 'b' is not the text from character 2 on, ' b'"),
        ("ab b", ["ab", " "], "unit 2: ' ' is blank"),
        ("ab b", ["ab"], "text 1: its units end before ' b'"),
        ("ab b", [(0, 2), (1, 4)], r"unit 2: \(1, 4\) is no span .* from 2 to 4"),
        ("ab b", [(0, 0.5)], r"unit 1: \(0, 0.5\) is no span"),
        (["ab", "b"], [["ab"]], "1 lists for 2 texts"),
        ([["ab"]], [["ab"]], r"text 1 is \['ab'\]"),
    ],
)
def test_units_that_do_not_fit_are_refused(text, units, message, network, tokenizer):
    with pytest.raises(recency.InputError, match=message) as error:
        recency.surprisal(text, network, tokenizer, units=units)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "setting", [{"context": 1}, {"rows": "tokens"}, {"space_after": [[True]]}, {"lossy": {}}]
)
def test_settings_of_words_are_refused_with_units(setting, network, tokenizer):
    with pytest.raises(recency.InputError, match="units are incompatible with"):
        recency.surprisal("b", network, tokenizer, units=["b"], **setting)
