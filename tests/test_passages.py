"""Passages of texts: what is shared however it is cut, and what unrelated texts share."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recency import history, passage_hashes, passages
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
    monkeypatch.setattr(passage_hashes, "BLOCK", 300)
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


def write_text(path, documents, at_once):
    """Write documents as prepare_text does, `at_once` in a row group."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"text": documents}), path, row_group_size=at_once)
    return path


def distinct(documents):
    """Return the distinct hashes of passages, each document on its own, in order."""
    return np.unique(np.concatenate([passages.of_texts([text]).numbers for text in documents]))


def test_words_are_those_of_a_regular_expression(monkeypatch):
    """In any script, next to any punctuation, and in documents that nothing separates."""
    monkeypatch.setattr(passage_hashes, "BLOCK", 500)
    choose = np.random.default_rng(2).choice
    codes = np.r_[32:0x250, 0x370:0x530, 0x900:0x980, 0x2000:0x2070, 0x3000:0x3100, 0x4E00:0x4E20]
    characters = [c for c in map(chr, [*codes, *range(0x1F600, 0x1F610)]) if c != "\u03a3"]
    characters = [c for c in characters if len(c.lower().encode()) == len(c.encode())] + [" "] * 200
    documents = ["".join(choose(characters, 400)) for _ in range(20)]
    words = [" ".join(re.findall(r"\w+", text.lower())) for text in documents]
    assert len(distinct(documents)) > 500
    np.testing.assert_array_equal(passages.of_texts(documents).numbers, distinct(words))


def test_no_passage_is_of_two_documents():
    a, b = (" ".join(WORDS[start : start + 10]) for start in (0, 10))
    assert len(passages.of_texts([a, b]).numbers) == len(passages.of_texts([b, "", a]).numbers) == 6
    assert len(passages.of_texts([a, "one two", "three", "four five six seven eight"]).numbers) == 3


def test_long_words_differ():
    """By their beginnings, their ends and their lengths."""
    words = [
        "",
        "immeasurabilities",
        "immeasurabilitiez",
        "immeasurabilityes",
        "immeasurabilitiies",
    ]
    texts = [f"a b c d e f g {word}h" for word in words]
    assert len(passages.of_texts(texts).numbers) == 5


@pytest.mark.parametrize("copies", [1, 7])
@pytest.mark.parametrize(("held", "block"), [(1, 200), (2, 1 << 16), (8, 5000)])
def test_the_sample_is_exact(tmp_path, monkeypatch, copies, held, block):
    """The fewest bits with which there are few enough distinct hashes, however often each occurs."""
    documents = [" ".join(WORDS[start : start + 400]) for start in range(0, 4000, 400)] * copies
    whole = distinct(documents)
    for name, value in (("MOST", 200), ("HELD", held)):
        monkeypatch.setattr(passages, name, value)
    monkeypatch.setattr(passage_hashes, "BLOCK", block)
    bits = next(bits for bits in range(64) if (whole < 2 ** (64 - bits)).sum() <= 200)
    text = write_text(tmp_path / "corpus" / "text.parquet", documents, 2)
    for sample in (passages.of_texts(documents), passages.of_file(text)):
        assert sample.bits == bits > 2
        np.testing.assert_array_equal(sample.numbers, whole[whole < 2 ** (64 - bits)])


def test_the_work_is_linear(monkeypatch):
    """The hashes that are sorted are few per word, at any length."""
    monkeypatch.setattr(passages, "MOST", 500)
    monkeypatch.setattr(passage_hashes, "BLOCK", 1000)
    sort, sizes = passages._distinct, []
    monkeypatch.setattr(passages, "_distinct", lambda x: sizes.append(len(x)) or sort(x))
    for number in (20_000, 80_000):
        sizes.clear()
        passages.of_texts([" ".join(f"w{n}" for n in range(number))])
        assert 0 < sum(sizes) < 4000  # the same for both: what has not to be kept is not sorted
        sizes.clear()
        passages.of_texts([TEXT] * (number // 4000))
        assert 0 < sum(sizes) < number


def test_a_killed_job_resumes(tmp_path, monkeypatch):
    documents = [" ".join(WORDS[start : start + 50]) for start in range(0, 4000, 50)]
    text = write_text(tmp_path / "corpus" / "text.parquet", documents, 10)
    monkeypatch.setattr(passages, "MOST", 500)
    passages.main(text, tmp_path / "whole.npz")
    read, done = passages._documents, []

    def killed(file, group):
        done.append(group)
        if group == 5:
            raise KeyboardInterrupt
        return read(file, group)

    monkeypatch.setattr(passages, "SAVE_EVERY", 0)
    monkeypatch.setattr(passages, "_documents", killed)
    out = tmp_path / "out.npz"
    with pytest.raises(KeyboardInterrupt):
        passages.main(text, out)
    assert done == [0, 1, 2, 3, 4, 5] and not out.exists()
    monkeypatch.setattr(passages, "_documents", lambda *args: done.append(args[1]) or read(*args))
    passages.main(text, out)
    assert done[6:] == [5, 6, 7]
    assert out.read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert [path.name for path in tmp_path.glob(".*")] == []
    # The state of another text is not used.
    (tmp_path / ".out.npz.state").write_bytes(out.read_bytes())
    passages.main(text, out)
    assert done[9:] == [*range(8)]


def test_passages_are_computed_once_per_text(tmp_path, monkeypatch):
    """Next to the text in a library's use, and not at all if the workflow's rule made them."""
    text = write_text(tmp_path / "corpus" / "text.parquet", [TEXT], 1)
    passages.main(text, tmp_path / "made.npz")
    first = passages.of_training_text(text)
    monkeypatch.setattr(passages, "_documents", None)
    again = [
        passages.of_training_text(text),
        passages.of_training_text(text, tmp_path / "made.npz"),
    ]
    assert all((other.numbers == first.numbers).all() for other in again)
    history.of_ngrams(text, tmp_path / "lm" / "n.arpa", made=tmp_path / "made.npz")
    monkeypatch.undo()
    write_text(text, ["another text of at least eight words and some more"], 1)
    assert len(passages.of_training_text(text).numbers) == 3


def test_records_of_version_1_are_compared(tmp_path):
    """The hashes are those of release 0.1."""
    text = "It was the best of times, it was the WORST of times; naïve cafés of Straße."
    old = passages.of_texts([text], version=1)
    assert old.numbers[:2].tolist() == [788668234678455433, 2618818650289877787]
    record = old.save(tmp_path)
    assert "version" not in record and passages.load(tmp_path, record).version == 1
    text = write_text(tmp_path / "corpus" / "text.parquet", [TEXT], 1)
    record = passages.of_texts([TEXT.upper()], version=1).save(tmp_path)
    lm = tmp_path / "config.json"
    texts = [{"corpus": "old", "passages": record}]
    lm.write_text(json.dumps({history.KEY: {"texts": texts}}))
    with pytest.raises(InputError, match="lm was trained on 100% of it"):
        history.require_unseen(text, "it", {"lm": lm})
