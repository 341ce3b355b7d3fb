"""Passages of texts: what is shared however it is cut, and what unrelated texts share."""

import numpy as np
import pytest

from recency import passages
from recency.errors import InputError

WORDS = [f"w{number}" for number in np.random.default_rng(1).integers(0, 50, 4000)]
TEXT = " ".join(WORDS)


def test_a_text_shares_all_passages_with_a_copy_cut_otherwise():
    lines = [" ".join(WORDS[start : start + 100]) for start in range(0, 4000, 100)]
    copy = passages.of_texts([TEXT.upper().replace(" ", ",\n", 300)])
    assert passages.of_texts(lines).share_in(copy) == 1.0


def test_other_texts_share_what_they_have_in_common():
    other = passages.of_texts([f"x{number}" for number in range(20)])
    assert other.share_in(passages.of_texts([TEXT])) is None  # no passage lies within one word
    half = [*WORDS[:2000], *(f"v{number}" for number in range(2000))]
    found = passages.of_texts([" ".join(half)]).share_in(passages.of_texts([TEXT]))
    assert found == pytest.approx(0.5, abs=0.01)


def test_a_sample_of_a_long_text_gives_the_same_shares(monkeypatch):
    whole = passages.of_texts([TEXT])
    monkeypatch.setattr(passages, "MOST", 1000)
    monkeypatch.setattr(passages, "AT_ONCE", 300)
    documents = [TEXT[:9000], TEXT[9000:]]
    sampled = passages.of_texts(documents)
    assert 0 < len(sampled.numbers) <= 1000 and sampled.bits == 2
    assert sampled.share_in(whole) > 0.98 and whole.share_in(sampled) > 0.98
    other = passages.of_texts([" ".join(WORDS[::-1])])
    assert other.share_in(sampled) == 0.0


def test_passages_are_read_as_they_were_written(tmp_path):
    made = passages.of_texts([TEXT])
    record = made.save(tmp_path)
    np.testing.assert_array_equal(passages.load(tmp_path, record).numbers, made.numbers)
    file = tmp_path / record["file"]
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(InputError, match=f"{file} cannot be read"):
        passages.load(tmp_path, record)
    np.save(file, made.numbers[1:])
    with pytest.raises(InputError, match=f"{file} was changed after it was written"):
        passages.load(tmp_path, record)
