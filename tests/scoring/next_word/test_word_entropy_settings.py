"""Where a word has no entropy, settings that are refused, tolerances and lists of words."""

import numpy as np
import pytest
import word_entropy_truth as truth
from tokenizers import Tokenizer, models, pre_tokenizers
from word_entropy_networks import LONGEST, PAIR, network_of

import recency
from recency.errors import InputError
from recency.scoring import measures
from recency.scoring.next_word import word_entropy_settings
from recency.scoring.surprisal import Model, score_words


@pytest.fixture(scope="module")
def tokenizer():
    return truth.tokenizer()


def test_where_a_word_has_none(tokenizer):
    """Without a begin token the first word has none; nor has one that no space stands before."""
    network = network_of("neox")
    model, given = Model(network, tokenizer), {"samples": 4, "longest": LONGEST}
    asked = {"measures": PAIR, "word_entropy": given}
    table = score_words(truth.TEXTS, model, bos=False, **asked).table
    assert table["word_entropy_bits"].isna().tolist() == [True, *[False] * 3, True, False, False]
    joined = recency.surprisal(
        [["ab", "c", "a"]], model, space_after=[[False, True, True]], **asked
    )
    assert joined["word_entropy_bits"].isna().tolist() == [False, True, False]
    assert joined["word_entropy_reduction_bits"].isna().tolist() == [True, True, False]
    rows = recency.surprisal(["ab cab"], model, rows="tokens", **asked)
    assert rows["word_entropy_bits"].isna().tolist() == [False, False, True]
    rest = recency.surprisal(["ab cab"], model, unit="nats", **asked)
    np.testing.assert_allclose(
        rest["word_entropy_nats"] / np.log(2), rows["word_entropy_bits"].dropna(), atol=1e-6
    )


REFUSED = {
    "no setting is called 'sample'; did you mean 'samples'": {"sample": 3},
    "no method is called": {"method": "exact"},
    "`beam` goes with the method beam, not with sampling": {"beam": 3},
    "`seed` goes with the method sampling, not with enumeration": {"words": ["a"], "seed": 2},
    "samples 1 is no whole number of 2 or more": {"samples": 1},
    "no estimator is called": {"estimator": "mean"},
    "tolerance 0 is no number of bits above 0": {"tolerance": 0},
    "end_of_text 1 is neither true nor false": {"end_of_text": 1},
    "enumeration needs `words`": {"method": "enumeration"},
    "entry 2, 'a b', is not one word": {"words": ["a", "a b"]},
    "there is no such file": {"words": "nowhere.txt"},
    "the word 'abcabc' of `words` has 4 tokens, and `longest` is 2": {"words": ["abcabc"], "longest": 2},
    "leave too little of a window of 32": {"longest": 17},
    r"tolerance 0.001 bits is not reached: item 1, word \d \('\w+'\): the standard error is": {
        "samples": 4, "longest": 3, "tolerance": 0.001},
    "the bounds are apart by": {"method": "beam", "beam": 1, "longest": 3, "tolerance": 0.001},
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused_in_one_line(message, tokenizer):
    model = Model(network_of("neox"), tokenizer)
    with pytest.raises(InputError, match=message) as refused:
        recency.surprisal(truth.TEXTS[0], model, measures=PAIR, word_entropy=REFUSED[message])
    assert "\n" not in str(refused.value)


def test_tolerance_that_is_reached(tokenizer):
    model = Model(network_of("neox"), tokenizer)
    settings = {"samples": 4, "longest": 3, "tolerance": 5}
    assert len(recency.surprisal(truth.TEXTS, model, measures=PAIR, word_entropy=settings)) == 7


def test_networks_that_have_no_word_entropy(tokenizer, tmp_path):
    with pytest.raises(InputError, match="settings for a measure that is not in `measures`"):
        recency.surprisal("a b", Model(network_of("neox"), tokenizer), word_entropy={})
    unmarked = Tokenizer(models.WordLevel({"<|endoftext|>": 0, "a": 1, "b": 2}, "a"))
    unmarked.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    with pytest.raises(InputError, match="marks no beginnings of words"):
        recency.surprisal(
            "a b", Model(network_of("lstm"), unmarked), measures=PAIR, bos="<|endoftext|>"
        )
    with pytest.raises(InputError, match="is a measure of causal LMs"):
        measures.check_masked(measures.check(PAIR))
    (tmp_path / "x.arpa").write_text("\\data\\\nngram 1=1\n\n\\1-grams:\n-1 a\n\n\\end\\\n")
    with pytest.raises(InputError, match="n-gram"):
        recency.surprisal("a", tmp_path / "x.arpa", measures=PAIR)


def test_a_file_of_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("ab\n\nabc\nab\n")
    assert word_entropy_settings.check({"words": path}).words == ("ab", "abc")
    assert word_entropy_settings.check({"words": str(path)}, read_words=False).words == ()
