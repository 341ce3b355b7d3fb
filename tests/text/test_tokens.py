"""Tokenizers and tokens: the stream is what the library gives, whatever the shortcuts."""

import gzip
import json
import os
import subprocess
import sys
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from project import SOURCES
from recency.errors import InputError
from recency.text import pretokenized
from recency.text import tokenizer as train_tokenizer
from recency.text import tokens as tokenize_text
from recency.text.tokens import KNOWN, PRETOKEN, Encoder, pieces

TEXTS = [
    "The dog's bone isn't here.\nWe'll see  it — “soon”, they've said!\n\n\tAt 10 o'clock, or 11½?",
    "Café naïve, <|endoftext|> 東京 is far. \nx\ny.\nIt's\n'tis\r\nnot “over”\n“yet”\n  \n end\n",
    "the cat sat on the mat and the dog sat on the cat " * 9,
]


def stored(path, texts, row_group=1):
    """Write texts as prepare_text does."""
    columns = {"document": [str(n) for n in range(len(texts))], "text": texts}
    pq.write_table(pa.table(columns), path, row_group_size=row_group)
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Train a small tokenizer."""
    folder = tmp_path_factory.mktemp("tokenizer")
    train_tokenizer.main(stored(folder / "text.parquet", TEXTS), folder / "tokenizer.json", 300)
    return folder / "tokenizer.json"


@pytest.fixture(scope="module")
def neox(trained, tmp_path_factory):
    """Make the trained tokenizer like GPT-NeoX's: NFC, and runs of blanks as added tokens."""
    facts = json.loads(trained.read_text())
    facts["normalizer"] = {"type": "NFC"}
    for n in range(6, 1, -1):
        token = {"id": 306 - n, "content": " " * n, "special": False, "normalized": True}
        token |= {"single_word": False, "lstrip": False, "rstrip": False}
        facts["added_tokens"].append(token)
    path = tmp_path_factory.mktemp("neox") / "tokenizer.json"
    path.write_text(json.dumps(facts))
    return path


@pytest.fixture(scope="module")
def encoders(trained, neox):
    """Load both, each with the library's own tokenizer beside it."""
    pairs = []
    for path in (trained, neox):
        library = Tokenizer.from_file(str(path))
        library.encode_special_tokens = True
        pairs.append((Encoder(path), library))
    return pairs


def ids(encoder, text):
    """Encode to a list of ids."""
    return np.frombuffer(encoder.encode(text), encoder.dtype).tolist()


# ---------------------------------------------------------------- training a tokenizer


def test_tokenizer_is_byte_level_and_opens_in_transformers(trained):
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(trained), eos_token="<|endoftext|>")
    assert len(tokenizer) == 300 and tokenizer.eos_token_id == 0
    for text in [*TEXTS, "\x00 never seen: ß 漢字 🙂\n"]:
        encoded = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(encoded, clean_up_tokenization_spaces=False) == text
    spans = tokenizer("the cat", return_offsets_mapping=True)["offset_mapping"]
    assert spans[0][0] == 0 and spans[-1][1] == 7 and len(spans) < 7


def test_training_is_deterministic(trained, tmp_path):
    text = stored(tmp_path / "text.parquet", TEXTS)
    program = (
        "import sys; from recency.text import tokenizer as t; "
        "t.main(sys.argv[1], sys.argv[2], vocabulary=300, threads=int(sys.argv[3]))"
    )
    for threads, seed in (("1", "1"), ("2", "7")):
        env = {**os.environ, "PYTHONPATH": SOURCES, "PYTHONHASHSEED": seed}
        out = tmp_path / f"{threads}.json"
        subprocess.run([sys.executable, "-c", program, text, out, threads], env=env, check=True)
        assert out.read_bytes() == trained.read_bytes()


def test_tokenizers_that_cannot_be(tmp_path):
    text = stored(tmp_path / "text.parquet", ["a short text"])
    out = tmp_path / "tokenizer.json"
    with pytest.raises(InputError, match="vocabulary of 257 is too small.*258"):
        train_tokenizer.main(text, out, 257)
    with pytest.raises(InputError, match="yields only .* entries, not the 5,000"):
        train_tokenizer.main(text, out, 5000)
    with pytest.raises(InputError, match="no text to train"):
        train_tokenizer.main(stored(text, [""]), out, 300)
    assert not out.exists()


# ---------------------------------------------------------------- the shortcut is exact


def test_classes_of_known_characters_are_the_library_s():
    library = pre_tokenizers.ByteLevel(add_prefix_space=False)
    known = [c for c in map(chr, range(0x3000)) if KNOWN.fullmatch(c)]
    assert len(known) > 600
    for c in known:
        text = f"a{c}b1{c}2.{c}. {c}{c} {c}'s{c}\n{c}\na \n{c}"
        spans = [span for _, span in library.pre_tokenize_str(text)]
        assert [text[start:end] for start, end in spans] == PRETOKEN.findall(text), hex(ord(c))
        assert unicodedata.is_normalized("NFC", text)


alphabet = "abS stdmrevl'’\"“.,-—1½²éªß×\n\n  \t\r\x00\x1c\x85\xa0\u2009\u3000東\u0301🙂ﬁ<|>"
texts = st.lists(
    st.sampled_from([*alphabet, "'s", "'ll", "\n", "a\nb", "x\n'", "  ", "<|endoftext|>", " the"]),
    max_size=40,
).map("".join)


@given(text=texts)
@example(text="a \nb\n c\n\nd")
@example(text="e\n\u0301x\ne\u0301\né")
@settings(max_examples=400, deadline=None)
def test_tokens_are_those_of_the_library_on_the_whole_text(encoders, text):
    for encoder, library in encoders:
        assert ids(encoder, text) == library.encode(text, add_special_tokens=False).ids


@given(text=texts, length=st.integers(1, 20))
@settings(max_examples=200, deadline=None)
def test_pieces_join_to_the_text_and_their_tokens_to_its_tokens(encoders, text, length):
    parts = pieces(text, length)
    assert "".join(parts) == text
    for _, library in encoders:
        joined = [i for part in parts for i in library.encode(part, add_special_tokens=False).ids]
        assert joined == library.encode(text, add_special_tokens=False).ids


def test_tokenizers_of_another_kind_take_no_shortcut(trained, tmp_path):
    path = tmp_path / "tokenizer.json"
    for change in (
        lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.Whitespace()),
        lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.Split(Regex(r"\s+"), "isolated")),
        lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True)),
        lambda t: setattr(t, "normalizer", normalizers.Lowercase()),
        lambda t: t.add_tokens(["dog"]),
        lambda t: setattr(t, "model", models.WordLevel({"the": 0, "?": 1}, "?")),
    ):
        tokenizer = Tokenizer.from_file(str(trained))
        change(tokenizer)
        tokenizer.save(str(path))
        encoder = Encoder(path)
        assert encoder.blanks is None
        for text in TEXTS:
            tokenizer.encode_special_tokens = True
            assert ids(encoder, text) == tokenizer.encode(text, add_special_tokens=False).ids


def test_memory_is_bounded(trained):
    encoder = Encoder(trained, remembered=5)
    encoder.encode(TEXTS[0])
    assert len(encoder.memory) == 5


@pytest.mark.merge
@pytest.mark.parametrize("name", ["gpt2", "20B"])
def test_real_tokenizers_on_real_text(shared_data, tmp_path, name):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(
        gzip.decompress((shared_data / "tokenizers" / f"{name}_tokenizer.json.gz").read_bytes())
    )
    encoder = Encoder(path)
    assert encoder.blanks is not None
    library = Tokenizer.from_file(str(path))
    library.encode_special_tokens = True
    for part in ("state_union", "wikitext2_valid"):
        file = shared_data / "text_english" / f"{part}.txt.gz"
        text = gzip.decompress(file.read_bytes()).decode()[:400_000]
        assert ids(encoder, text) == library.encode(text, add_special_tokens=False).ids


# ---------------------------------------------------------------- streams of tokens


def stream(tmp_path, text, tokenizer, **options):
    """Tokenise and give (ids, facts)."""
    out, info = tmp_path / "tokens.bin", tmp_path / "tokens.json"
    tokenize_text.main(text, tokenizer, out, info, **options)
    facts = json.loads(info.read_text())
    return np.fromfile(out, facts["dtype"]).tolist(), facts


@pytest.mark.parametrize("threads", [1, 3])
def test_stream(trained, tmp_path, threads):
    texts = [*TEXTS, "", *TEXTS[:1]]
    text = stored(tmp_path / "text.parquet", texts, row_group=2)
    library = Tokenizer.from_file(str(trained))
    library.encode_special_tokens = True
    each = [library.encode(t, add_special_tokens=False).ids for t in texts]
    tokens, facts = stream(tmp_path, text, trained, threads=threads)
    assert tokens == [i for document in each for i in [*document, 0]]
    assert facts == {
        "tokens": len(tokens),
        "documents": 5,
        "dtype": "uint16",
        "vocabulary": 300,
        "end_of_document": 0,
        "separators": 5,
    }
    assert tokens.count(0) == 5
    tokens, facts = stream(tmp_path, text, trained, threads=threads, separators=False)
    assert tokens == [i for document in each for i in document]
    assert facts["separators"] == 0 and facts["end_of_document"] == 0


def test_large_vocabulary_takes_four_bytes(tmp_path):
    words = {f"w{n}": n for n in range(65_535)}
    path = tmp_path / "tokenizer.json"
    text = stored(tmp_path / "text.parquet", ["w1 w65534 w65535"])
    for extra, dtype in (({}, "uint16"), ({"w65535": 65_535}, "uint32")):
        tokenizer = Tokenizer(models.WordLevel({**words, **extra}, "w0"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.save(str(path))
        tokens, facts = stream(tmp_path, text, path, separators=False)
        assert facts["dtype"] == dtype and facts["end_of_document"] is None
        assert tokens == [1, 65_534, 65_535 if extra else 0]
    with pytest.raises(InputError, match=r"no token <\|endoftext\|> to separate documents"):
        stream(tmp_path, text, path)


def test_empty_text_is_refused(trained, tmp_path):
    for number, texts in enumerate(([], [""], ["", ""])):
        text = stored(tmp_path / f"{number}.parquet", texts)
        with pytest.raises(InputError, match="has no text"):
            stream(tmp_path, text, trained)
    assert not list(tmp_path.glob("*tokens*"))


def test_worker_s_end_is_told(trained, tmp_path):
    text = stored(tmp_path / "text.parquet", TEXTS)
    with pytest.raises(RuntimeError, match="ended with code 1"):
        list(tokenize_text._in_order(text, trained, None, 3, 2))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_killed_job_resumes_from_its_last_whole_row_group(
    trained, tmp_path, monkeypatch, threads
):
    """With the tokens of an uninterrupted job; the state of another one is not used."""
    monkeypatch.setattr(tokenize_text, "SAVE_EVERY", 0)
    text = stored(tmp_path / "text.parquet", TEXTS * 3)
    whole = stream(tmp_path, text, trained)
    paths = text, trained, tmp_path / "out.bin", tmp_path / "out.json"
    in_order, begun = tokenize_text._in_order, []

    def killed(*arguments):
        begun.append(arguments[5])
        for number, part in enumerate(in_order(*arguments)):
            if number == 4:
                with (tmp_path / ".out.bin.part").open("ab") as file:
                    file.write(b"cut")  # what is behind the last whole row group
                raise KeyboardInterrupt
            yield part

    monkeypatch.setattr(tokenize_text, "_in_order", killed)
    for code in ({"a": "1"}, {"a": "2"}, {"a": "2"}):  # code has changed after the first
        with pytest.raises(KeyboardInterrupt):
            tokenize_text.main(*paths, threads=threads, code=code)
    assert begun == [0, 0, 4] and not any(path.exists() for path in paths[2:])
    tokenize_text.main(*paths, threads=threads, code={"a": "2"})
    assert begun[3:] == [8]
    assert (tmp_path / "out.bin").read_bytes() == (tmp_path / "tokens.bin").read_bytes()
    assert json.loads((tmp_path / "out.json").read_text()) == whole[1]
    assert not list(tmp_path.glob(".*"))


# ---------------------------------------------------------------- tokens as they come


def test_pretokenized(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(pretokenized, "CHUNK", 1000)
    rng = np.random.default_rng(1)
    ids = rng.integers(1, 300, 2 * 2049 + 5).astype("<u2")
    path, info = tmp_path / "pile.bin", tmp_path / "pile.json"
    ids.tofile(path)
    pretokenized.main(path, trained, info, vocabulary=300, bytes=ids.nbytes)
    facts = json.loads(info.read_text())
    assert facts == {
        "tokens": 4103,
        "documents": None,
        "dtype": "uint16",
        "vocabulary": 300,
        "end_of_document": 0,
        "separators": 0,
        "rows": 2,
    }
    ids[[7, 4000]] = 0
    ids.tofile(path)
    pretokenized.main(path, trained, info)
    facts = json.loads(info.read_text())
    assert facts["separators"] == facts["documents"] == 2 and facts["vocabulary"] == 300
    ids[3000] = 300
    ids.tofile(path)
    with pytest.raises(InputError, match="token 3,000 is 300, but the vocabulary ends at 299"):
        pretokenized.main(path, trained, info)
    with pytest.raises(InputError, match="has 8,206 bytes, not 8,000"):
        pretokenized.main(path, trained, info, bytes=8000)
    for content in (b"", b"abc"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not tokens of two bytes"):
            pretokenized.main(path, trained, info)
