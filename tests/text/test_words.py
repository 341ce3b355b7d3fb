"""Tokenizers of words, and text of a sentence a line whose words are counted."""

import gzip
import json

import numpy as np
import pytest
from tokenizers import Tokenizer

from recency.errors import InputError
from recency.text import prepare, tokenizer, tokens
from recency.text.readers import sentences

LINES = ["the cat sat", "", "the <unk> sat on the mat", "a cat"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress(" \n ".join(LINES).encode()))
    return path


@pytest.fixture
def made(text, tmp_path):
    out = tmp_path / "text.parquet"
    prepare.main([text], out, reader="sentences", options={"sentences": {"words": 11}})
    return out


def test_a_line_is_a_document_and_words_are_counted(text):
    found = [line for _, line in sentences.read([text], words=11)]
    assert found == ["the cat sat", "the [unk] sat on the mat", "a cat"]
    with pytest.raises(InputError, match=r"lines\.txt\.gz: 11 words, not the 887,521 of"):
        list(sentences.read([text], words=887_521))


def test_the_most_frequent_words_and_the_rest_is_unknown(made, tmp_path):
    out = tmp_path / "tokenizer.json"
    tokenizer.main(made, out, 6, kind="words", unknown="[unk]")
    opened = Tokenizer.from_file(str(out))
    # the 3 times, cat and sat twice, then what comes first in the alphabet
    expected = {"</s>": 0, "[unk]": 1, "the": 2, "cat": 3, "sat": 4, "a": 5}
    assert opened.get_vocab() == expected
    assert opened.encode("the dog  sat\n[unk]").ids == [2, 1, 4, 1]
    with pytest.raises(InputError, match="has 6 words, .* make 8 entries, not the 9"):
        tokenizer.main(made, out, 9, kind="words", unknown="[unk]")


def test_words_of_other_texts_are_entries_too(made, tmp_path):
    (tmp_path / "more.txt").write_text("the dog sat [unk] on a rug rug\n")
    prepare.main([tmp_path / "more.txt"], tmp_path / "more", reader="plain")
    out = tmp_path / "tokenizer.json"
    tokenizer.main(made, out, 6, kind="words", unknown="[unk]", also=[tmp_path / "more"])
    entries = Tokenizer.from_file(str(out)).get_vocab()
    assert sorted(entries, key=entries.get) == ["</s>", "[unk]", "the", "cat", "sat", "a", "dog", "on", "rug"]  # fmt: skip


def test_sentences_are_parted_by_their_end(made, tmp_path):
    out = tmp_path / "tokenizer.json"
    tokenizer.main(made, out, 6, kind="words", unknown="[unk]")
    tokens.main(made, out, tmp_path / "tokens.bin", tmp_path / "tokens.json")
    ids = np.fromfile(tmp_path / "tokens.bin", "<u2")
    assert ids.tolist() == [2, 3, 4, 0, 2, 1, 4, 1, 2, 1, 0, 5, 3, 0]
    facts = json.loads((tmp_path / "tokens.json").read_text())
    assert (facts["end_of_document"], facts["separators"], facts["vocabulary"]) == (0, 3, 6)
