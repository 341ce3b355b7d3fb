"""N-gram and frequency surprisal against KenLM's own query and by hand."""

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from recency import history, stored_parts
from recency.errors import REFUSALS
from recency.scoring import estimate_ngrams, estimated, frequency, ngram, ngram_surprisal
from small_networks import byte_tokenizer

BUILT = Path(__file__).resolve().parents[2] / ".tools" / "kenlm" / "bin"
TEXT = [
    "the cat sat on the mat . the dog sat on the cat .",
    "a dog saw the cat , and the cat saw a dog",
    "the <unk> cat can't see\na naïve dog on the mat",
]
ITEMS = ["the cat saw a zebra on the mat", "dog", "zebra zebra the cat", "a 10\u00a0000 dog"]


def program(name):
    found = shutil.which(name) or shutil.which(name, path=str(BUILT))
    if found is None:
        pytest.skip(f"KenLM's {name} is not built (make setup)")
    return found


def as_words(texts):
    rows = [(f"item {n}", n // 2, word) for n, text in enumerate(texts) for word in text.split(" ")]
    words = pd.DataFrame(rows, columns=["item", "sentence", "word"])
    return words.assign(word_id=np.arange(len(words), dtype=np.int32))


@pytest.fixture(scope="module", params=[1, 2, 3, 5])
def arpa(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ngrams")
    pd.DataFrame({"document": ["1", "2", "3"], "text": TEXT}).to_parquet(folder / "text.parquet")
    out = folder / f"{request.param}.arpa"
    estimate_ngrams.main(
        folder / "text.parquet", out, "100M", order=request.param, lmplz=program("lmplz")
    )
    return out


def by_query(arpa, sentences, bos=True):
    """Return log10 p and the length of the n-gram found, of each word, as KenLM's query has them."""
    command = [program("query"), "-v", "word", *([] if bos else ["-n"]), str(arpa)]
    text = "\n".join(sentences) + "\n"
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    entries = [each.rsplit(" ", 2) for each in out.strip().split("\t") if each]
    words = [entry for entry in entries if not entry[0].startswith("</s>=")]
    return np.array([(float(log10), int(length)) for _, length, log10 in words]).T


@pytest.mark.parametrize("bos", [True, False])
def test_against_query(arpa, tmp_path, bos):
    if arpa.stem == "1":
        pytest.skip("KenLM refuses to load models of order 1; test_order_1_by_hand has them")
    words = as_words(ITEMS)
    words.to_parquet(tmp_path / "words.parquet")
    paths = tmp_path / "words.parquet", arpa, tmp_path / "out.parquet", tmp_path / "ledger.csv"
    ngram_surprisal.main(*paths, bos=bos)
    got = pd.read_parquet(tmp_path / "out.parquet")
    log10, length = by_query(arpa, ITEMS, bos)
    np.testing.assert_allclose(got["surprisal_bits"], -log10 * np.log2(10), atol=1e-4)
    assert got["context_tokens"].tolist() == (length - 1).tolist()
    assert got["corrected_bits"].isna().all() and (got["tokens"] == 1).all()
    ledger = pd.read_csv(tmp_path / "ledger.csv")
    assert ledger["word"].tolist() == ["zebra", "zebra", "zebra", "10\u00a0000"]
    assert set(ledger["treatment"]) == {"probability of <unk>"}


def test_binary_and_gzip(arpa, tmp_path, monkeypatch):
    if arpa.stem == "1":
        pytest.skip("KenLM refuses to load models of order 1")
    binary = tmp_path / "model.binary"
    subprocess.run([program("build_binary"), arpa, binary], check=True, capture_output=True)
    zipped = tmp_path / "model.arpa.gz"
    zipped.write_bytes(gzip.compress(arpa.read_bytes()))
    sentences = [item.split(" ") for item in ITEMS]
    monkeypatch.setenv("PATH", str(Path(program("query")).parent))
    plain, packed, queried = (ngram.score(each, sentences) for each in (arpa, zipped, binary))
    assert packed == plain
    for ours, theirs in zip(plain, queried, strict=True):
        np.testing.assert_allclose(ours.log10, theirs.log10, atol=2e-5)
        assert (ours.context, ours.known) == (theirs.context, theirs.known)
    for ours, theirs in zip(*(ngram.score(each, sentences, False) for each in (arpa, binary))):
        np.testing.assert_allclose(ours.log10, theirs.log10, atol=2e-5)


def test_order_1_by_hand(arpa):
    """p(w) = (c - D)/N + γ/V: a unigram needs no context, and counts each line's end (TOOLCHAIN)."""
    if arpa.stem != "1":
        pytest.skip("order 1 alone")
    lines = [line for line in arpa.read_text(encoding="utf-8").splitlines() if "\t" in line]
    listed = {line.split("\t")[1]: float(line.split("\t")[0]) for line in lines}
    got = ngram.score(arpa, [["the", "zebra"], ["cat"]])
    assert got[0].log10 == [listed["the"], listed["<unk>"]] and got[1].log10 == [listed["cat"]]
    assert got[0].context == [0, 0] and got[0].known == [True, False]


def test_context_runs_within_items_or_sentences(arpa, tmp_path):
    if arpa.stem != "3":
        pytest.skip("one order will do")
    words = as_words(["the cat", "saw a dog"]).assign(item="one")
    words["sentence"] = [0, 0, 1, 1, 1]
    words.to_parquet(tmp_path / "words.parquet")
    found = {}
    for context in ("item", "sentence"):
        out = tmp_path / "out.parquet"
        ngram_surprisal.main(tmp_path / "words.parquet", arpa, out, context=context)
        found[context] = pd.read_parquet(out)["surprisal_bits"]
    for context, texts in (("item", ["the cat saw a dog"]), ("sentence", ["the cat", "saw a dog"])):
        expected = -by_query(arpa, texts)[0] * np.log2(10)
        np.testing.assert_allclose(found[context], expected, atol=1e-4)


def test_damaged_models_are_refused(tmp_path):
    words = tmp_path / "words.parquet"
    as_words(["a"]).to_parquet(words)
    bad = tmp_path / "bad.arpa"
    bad.write_text("nothing\n")
    with pytest.raises(REFUSALS, match="neither an ARPA file nor a KenLM binary"):
        ngram_surprisal.main(words, bad, tmp_path / "out")
    bad.write_text("\\data\\\nngram 1=1\n\n\\1-grams:\n-1\ta\n\\end\\\n")
    with pytest.raises(REFUSALS, match="lists no <unk>"):
        ngram_surprisal.main(words, bad, tmp_path / "out")
    bad.write_text("\\data\\\nngram 1=1\n\n\\1-grams:\nminus one a\n\\end\\\n")
    with pytest.raises(REFUSALS, match=r"line 5: 'minus one a' is not"):
        ngram_surprisal.main(words, bad, tmp_path / "out")


def test_frequency_list(tmp_path):
    """SUBTLEX-US as published: tab-separated, mixed case; punctuation is not part of a word."""
    listed = (
        "Word\tFREQcount\tCDcount\nThe\t1501908\t8388\ndon't\t100\t5\nnull\t7\t1\nco-op\t3\t1\n"
    )
    (tmp_path / "list.txt").write_text(listed)
    shown = ["\u201cThe", "don\u2019t,", "null", "co-op.", "zebra", "\u2014"]
    words = as_words([" ".join(shown)])
    words.to_parquet(tmp_path / "words.parquet")
    paths = [tmp_path / name for name in ("words.parquet", "list.txt", "out", "ledger")]
    frequency.main(*paths)
    got = pd.read_parquet(paths[2])
    counts = np.array([1501908, 100, 7, 3, 0, 0])
    expected = -np.log2((counts + 1) / (counts.sum() + 5))
    np.testing.assert_allclose(got["surprisal_bits"], expected)
    assert pd.read_csv(paths[3])["word"].tolist() == ["zebra", "\u2014"]
    frequency.main(*paths, steps=["case"])
    assert len(pd.read_csv(paths[3])) == 5
    with pytest.raises(REFUSALS, match="no column Count; there are Word, FREQcount, CDcount"):
        frequency.main(*paths, columns=["Word", "Count"])
    (tmp_path / "list.txt").write_text("Word,FREQcount\na,1\nb,many\n")
    with pytest.raises(REFUSALS, match="row 3: 'many' is no count"):
        frequency.main(*paths)


def test_token_counts(tmp_path):
    """The counts of a token stream, such as the Pile's: a word is worth its tokens together."""
    tokenizer = Tokenizer(models.WordLevel({"Ġ": 0, "the": 1, "cat": 2, "s": 3, "?": 4}, "?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("s", "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split("s", "isolated")]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    np.array([1, 1, 2, 3, 0, 1], np.uint16).tofile(tmp_path / "stream.bin")
    info = {"dtype": "uint16", "vocabulary": 5}
    (tmp_path / "stream.json").write_text(json.dumps(info))
    as_words(["the cats dog"]).to_parquet(tmp_path / "words.parquet")
    out, ledger, opened = tmp_path / "out", tmp_path / "ledger", tmp_path / "tokenizer.json"
    words, stream = tmp_path / "words.parquet", tmp_path / "stream.bin"
    frequency.main(words, stream, out, ledger, opened)
    got = pd.read_parquet(out)
    p = (np.array([1, 3, 1, 1, 0]) + 1) / 11
    expected = -np.log2([p[1], p[2] * p[3], p[4]])
    np.testing.assert_allclose(got["surprisal_bits"], expected)
    assert got["tokens"].tolist() == [1, 2, 1]
    assert "not in the list" in set(pd.read_csv(ledger)["reason"])
    counts = tmp_path / "counts.tsv"
    counts.write_text("token_id\tcount\n3\t1\n1\t3\n0\t1\n2\t1\n")
    settings = {"tokenizer": opened, "columns": ["token_id", "count"]}
    frequency.main(words, counts, out, ledger, **settings)
    pd.testing.assert_frame_equal(pd.read_parquet(out), got)
    counts.write_text("token_id\tcount\n3\t1\n3\t3\n")
    with pytest.raises(REFUSALS, match="not one of token ids, each once"):
        frequency.main(words, counts, out, ledger, **settings)


def test_words_with_another_issue_are_in_the_list(tmp_path):
    tokenizer = byte_tokenizer(["a bird \U0001f426 sang"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    counts = np.ones(tokenizer.get_vocab_size())
    words = as_words(["a \U0001f600 sang"])
    result = frequency.score_tokens(words, counts, tmp_path / "tokenizer.json", 1.0, "bits")
    assert "has a character in several tokens" in set(result.ledger["reason"])
    assert result.notes == ["0 of 3 words are not in the list, such as []"]


@pytest.mark.merge
def test_the_published_lists(shared_data, tmp_path):
    """SUBTLEX-US and the Pile's token counts, as they are published, on real words."""
    lists = shared_data / "subtlex_us", shared_data / "tokenizers"
    words, out, ledger = (tmp_path / name for name in ("words", "out", "ledger"))
    as_words(["The cat's mats, \u201chowever\u201d \u2014 zyzzyvaic."]).to_parquet(words)
    subtlex = lists[0] / "SUBTLEXus74286wordstextversion.txt.gz"
    frequency.main(words, subtlex, out, ledger)
    the = pd.read_parquet(out)["surprisal_bits"][0]
    assert the == pytest.approx(-np.log2(1501908 / 49.77e6), abs=0.01)
    assert {"\u2014", "zyzzyvaic."} <= set(pd.read_csv(ledger)["word"])
    zipped = lists[1] / "20B_tokenizer.json.gz"
    opened = tmp_path / "tokenizer.json"
    opened.write_bytes(gzip.decompress(zipped.read_bytes()))
    pile = lists[1] / "the_pile_16k_unigrams.tsv.gz"
    columns = pd.read_csv(pile, sep="\t", nrows=1).columns
    frequency.main(words, pile, out, ledger, opened, columns)
    got = pd.read_parquet(out)
    assert got["surprisal_bits"].notna().all() and got["tokens"].max() > 1
    assert got["surprisal_bits"][0] < 12 < got["surprisal_bits"][5]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("terminate: No space left on device in x", "out.arpa was not written: the disk is full"),
        ("bad counts", r"lmplz failed on .*text.parquet \(status 3\)"),
    ],
)
def test_what_lmplz_died_of_is_said(tmp_path, capsys, words, said):
    pd.DataFrame({"text": ["a b", "c"]}).to_parquet(tmp_path / "text.parquet")
    program = tmp_path / "lmplz"
    program.write_text(
        f"#!/bin/sh\ncat >/dev/null\necho counting >&2\necho '{words}' >&2\nexit 3\n"
    )
    program.chmod(0o755)
    with pytest.raises(REFUSALS, match=said):
        estimate_ngrams.main(tmp_path / "text.parquet", tmp_path / "out.arpa", lmplz=str(program))
    told = capsys.readouterr().err
    assert "counting" in told and words in told
    assert not list(tmp_path.glob("*.arpa*"))


def test_an_estimated_model_is_stored_before_anything_else_can_fail(tmp_path, monkeypatch):
    """It is estimated once, though its job fails and Snakemake deletes its outputs."""
    text, out = tmp_path / "corpus" / "text.parquet", tmp_path / "n.arpa"
    text.parent.mkdir()
    pd.DataFrame({"text": TEXT}).to_parquet(text)
    record, calls = history.of_ngrams, []

    def failing(*_, **__):
        raise MemoryError

    monkeypatch.setattr(history, "of_ngrams", failing)
    settings = {"memory": "100M", "order": 2}
    with pytest.raises(MemoryError):
        estimate_ngrams.main(text, out, **settings, lmplz=program("lmplz"))
    model = out.read_bytes()
    out.unlink()
    monkeypatch.setenv("PATH", f"{Path(program('lmplz')).parent}:{os.environ['PATH']}")
    with pytest.raises(MemoryError):
        estimated.main(text, out, code={"a": "1"}, **settings)
    assert out.read_bytes() == model
    out.unlink()
    monkeypatch.setattr(history, "of_ngrams", record)
    estimate = estimate_ngrams.estimate
    monkeypatch.setattr(
        estimate_ngrams, "estimate", lambda *a, **k: (calls.append(k), estimate(*a, **k))
    )
    estimated.main(text, out, code={"a": "1"}, **settings)
    assert out.read_bytes() == model and calls == [] and history.read(out)
    # Not with other settings, code or text.
    estimated.main(text, out, code={"a": "2"}, **settings)
    estimated.main(text, out, code={"a": "2"}, **settings | {"order": 1})
    pd.DataFrame({"text": [*TEXT, "more text"]}).to_parquet(text)
    stored_parts.content.cache_clear()
    estimated.main(text, out, code={"a": "2"}, **settings | {"order": 1})
    assert len(calls) == 3
