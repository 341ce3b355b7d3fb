"""N-gram-likeness against least squares by numpy, on surprisal of an n-gram model that is written out."""

import numpy as np
import pytest

from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import ngram_likeness, ngram_surprisal
from recency.scoring.surprisal import Model, score_words
from small_networks import NONE, TEXTS, TINY, byte_tokenizer

NAMES = ["ngram_explained", "ngram_remainder"]


@pytest.fixture(scope="module")
def model():
    tokenizer = byte_tokenizer(vocabulary=320)
    made = architectures.new(TINY, NONE, tokenizer.get_vocab_size(), 1)
    return Model(made.eval(), tokenizer)


@pytest.fixture
def arpa(tmp_path):
    """Write a bigram model of some of the words, as KenLM does."""
    words = ["<unk>", "<s>", "</s>", "the", "and", "remembered", "she", "another", "."]
    lines = ["\\data\\", f"ngram 1={len(words)}", "ngram 2=2", "", "\\1-grams:"]
    lines += [f"{-0.4 - 0.13 * n}\t{word}\t-0.2" for n, word in enumerate(words)]
    lines += ["", "\\2-grams:", "-0.3\tshe remembered", "-0.2\tand she", "", "\\end\\", ""]
    path = tmp_path / "two.arpa"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("unit", ["bits", "nats"])
def test_fitted_values_and_remainders_are_those_of_least_squares(model, arpa, bos, unit):
    result = score_words(TEXTS, model, bos=bos, measures=NAMES, ngram_lm=arpa, unit=unit)
    table = result.table
    y = table[f"surprisal_{unit}"].to_numpy()
    from recency.scoring.texts import as_words

    x = ngram_surprisal.score(as_words(TEXTS), arpa, bos, "item", unit).table[f"surprisal_{unit}"]
    both = np.isfinite(y)
    assert both.all() == bos
    design = np.column_stack([np.ones(both.sum()), x[both]])
    weights, *_ = np.linalg.lstsq(design, y[both], rcond=None)
    fitted = design @ weights
    np.testing.assert_allclose(table[f"ngram_explained_{unit}"][both], fitted, rtol=1e-9)
    np.testing.assert_allclose(table[f"ngram_remainder_{unit}"][both], y[both] - fitted, atol=1e-9)
    assert table[f"ngram_explained_{unit}"][~both].isna().all()
    r2 = np.corrcoef(x[both], y[both])[0, 1] ** 2
    assert any(f"R² = {r2:.4f}" in note and "two.arpa" in note for note in result.notes)


def test_a_reference_reads_as_it_is_told(model, arpa):
    reading = ngram_likeness.Reference(arpa, bos=False)
    other = score_words(TEXTS, model, measures=NAMES, ngram_lm=reading).table
    plain = score_words(TEXTS, model, measures=NAMES, ngram_lm=arpa).table
    assert (other["surprisal_bits"] == plain["surprisal_bits"]).all()
    assert not np.allclose(other["ngram_explained_bits"], plain["ngram_explained_bits"])


def test_what_cannot_be_fitted_is_refused(model, arpa, tmp_path):
    for settings, message in (
        ({}, "needs an n-gram model"),
        ({"ngram_lm": tmp_path / "none.arpa"}, "is neither an ARPA file nor a KenLM binary"),
        ({"ngram_lm": arpa, "tokens": True}, "is defined for words, not for tokens"),
    ):
        with pytest.raises(InputError, match=message):
            score_words(TEXTS, model, measures=NAMES, **settings)
    with pytest.raises(InputError, match="to 2 words"):
        score_words("the cat", model, measures=NAMES, ngram_lm=arpa)
    with pytest.raises(InputError, match="of different surprisal"):
        ngram_likeness.fit(np.arange(5.0), np.ones(5))
