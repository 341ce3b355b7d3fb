"""Scripts without spaces, from the right, with marks and with long words: table → words → surprisal."""

import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import recency
from peers import peer
from readingtimes import scripts, sentences, text_languages
from readingtimes.joins import readings
from readingtimes.joins.index import spelling
from recency.errors import REFUSALS
from recency.reading import responses as read_responses
from recency.reading import words as read_words
from recency.scoring import estimate_ngrams, ngram_surprisal, wordfreq_surprisal
from recency.scoring.ngram import split_word
from recency.scoring.plausible import other_language
from recency.text.readers import conllu
from small_networks import byte_tokenizer

KENLM = Path(__file__).resolve().parents[2] / ".tools" / "kenlm" / "bin"
#: Language → words in reading order, whether a space follows each, and sentences that they make.
TEXTS = {
    "zh": (["我", "昨天", "看见", "了", "他", "。", "他", "在", "花园", "里", "，", "天", "很", "黑", "。"], False, 2),
    "ja": (["昨日", "、", "私", "は", "庭", "で", "彼", "を", "見", "た", "。", "暗かっ", "た", "です", "。"], False, 2),
    "ar": (["رأيته", "أمس", "في", "الحديقة", ".", "هل", "كان", "الجو", "مظلما", "؟"], True, 2),
    "he": (["ראיתי", "אותו", "אתמול", "בגן", ".", "היה", "חשוך", "מאוד", "."], True, 2),
    "fa": (["او", "را", "می\u200cبینم", ".", "کتاب\u200cها", "در", "باغ", "هستند", "."], True, 2),
    "tr": (["Evlerimizdekilerden", "miydiler", "?", "Çekoslovakyalılaştıramadıklarımızdanmışsınız", "."], True, 2),
    "fi": (["Epäjärjestelmällistyttämättömyydellänsäkään", "ei", "ollut", "väliä", ".", "Talossammekin", "oli", "pimeää", "."], True, 2),
    "hi": (["मैंने", "उसे", "कल", "बगीचे", "में", "देखा", "।", "वह", "अँधेरे", "में", "था", "।"], True, 2),
    "ko": (["나는", "어제", "그를", "정원에서", "보았다", ".", "어두웠다", "."], True, 2),
}  # fmt: skip


def written(language):
    """Return a language's text as it is written."""
    listed, spaced, _ = TEXTS[language]
    return (" " if spaced else "").join(listed)


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer([written(language) for language in TEXTS], 400)


@pytest.fixture(scope="module")
def network(tokenizer):
    torch.manual_seed(1)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 256, "initializer_range": 0.5}
    config = GPT2Config(
        vocab_size=tokenizer.get_vocab_size(), **sizes, bos_token_id=0, eos_token_id=0
    )
    return GPT2LMHeadModel(config).eval()


def read(folder, language, form="NFC"):
    """Read a synthetic corpus of a language as a table of the user's; return words and responses."""
    listed, spaced, _ = TEXTS[language]
    rows = [
        (subject, "one", number, unicodedata.normalize(form, word), spaced, 200 + 10 * number)
        for subject in ("s1", "s2")
        for number, word in enumerate(listed, 1)
    ]
    names = ["subject", "item", "position", "word", "space_after", "rt"]
    pd.DataFrame(rows, columns=names).to_csv(folder / "reading.csv", index=False)
    files, options = (
        {"t": folder / "reading.csv"},
        {"columns": {"SPR": "rt"}, "sentences": "punctuation"},
    )
    paths = [folder / "words.parquet", folder / "responses.parquet"]
    read_words.main(files=files, parser="table", options=options, out=paths[0])
    read_responses.main(
        files=files, words=paths[0], parser="table", measure="SPR", options=options, out=paths[1]
    )
    return [pd.read_parquet(path) for path in paths]


@pytest.mark.parametrize("language", TEXTS)
def test_a_corpus_is_read_and_scored_as_written(tmp_path, tokenizer, network, language):
    listed, spaced, many = TEXTS[language]
    table, times = read(tmp_path, language)
    assert table.word.tolist() == [unicodedata.normalize("NFC", word) for word in listed]
    assert set(table.space_after) == {spaced}
    assert table.sentence.nunique() == many
    assert len(times) == 2 * len(listed) and times.time_ms.min() == 210
    scored = recency.surprisal(table, network, tokenizer)
    ids = tokenizer.encode(written(language), add_special_tokens=False).ids
    with torch.no_grad():
        log = network(torch.tensor([[0, *ids]])).logits[0].log_softmax(-1)
    bits = sum(-log[number, token].item() for number, token in enumerate(ids)) / np.log(2)
    assert scored.tokens.sum() == len(ids)
    assert scored.surprisal_bits.sum() == pytest.approx(bits, abs=1e-3)


@pytest.mark.parametrize("language", ["tr", "fi", "ko", "hi"])
def test_the_form_of_accents_changes_nothing(tmp_path, language):
    (tmp_path / "d").mkdir()
    composed, decomposed = read(tmp_path, language), read(tmp_path / "d", language, "NFD")
    for one, other in zip(composed, decomposed, strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_unigrams_of_a_script_without_spaces_are_of_the_treebank_s_words(tmp_path, language):
    lmplz = shutil.which("lmplz") or shutil.which("lmplz", path=str(KENLM))
    if lmplz is None:
        pytest.skip("KenLM's lmplz is not built (make setup)")
    listed, *_ = TEXTS[language]
    lines = [f"{n}\t{word}\t_\tX" for n, word in enumerate(listed, 1)]
    treebank = tmp_path / "train.conllu"
    treebank.write_text("\n".join([f"# text = {written(language)}", *lines, "", ""]), "utf-8")
    table, _ = read(tmp_path, language)
    unknown = {}
    for words in (True, False):
        text = pd.DataFrame(
            list(conllu.read([treebank], words=words)), columns=["document", "text"]
        )
        text.to_parquet(tmp_path / "text.parquet")
        arpa = tmp_path / "unigrams.arpa"
        estimate_ngrams.main(tmp_path / "text.parquet", arpa, "100M", order=1, lmplz=lmplz)
        result = ngram_surprisal.score(table, arpa, True, "item", "bits")
        unknown[words] = set(result.ledger.word)
        many = pd.concat([table] * 5, ignore_index=True).assign(word_id=range(5 * len(table)))
        message = other_language(many, ngram_surprisal.score(many, arpa, True, "item", "bits"))
        assert bool(message) == (not words)
    assert unknown[True] == set() and unknown[False] == set(listed)


@pytest.mark.parametrize(
    "text, ends",
    [("他来了。」 他", 1), ("؟ نعم", 1), ("देखा ।", 1), ("Er kam. Sie", 1), ("Mr. Lee", 0)],
)
def test_sentences_end_at_the_marks_of_any_script(text, ends):
    assert sum(sentences.ends(text.split() + ["X"])[:-1]) == ends


def test_letters_of_other_scripts_are_told_apart_in_joins():
    for one, other in [("한", "하"), ("が", "か"), ("कि", "का"), ("บิน", "บาน")]:
        assert spelling(one) != spelling(other)
    assert spelling("Été,") == spelling("ete") and spelling("كَتَبَ") == spelling("كتب")
    for one, other in [("한글", "호글"), ("がく", "かく")]:
        assert readings.plain(one) != readings.plain(other)


def test_full_width_punctuation_is_no_letter():
    assert spelling("「花園」，") == "花園"
    assert split_word("花园，", "bare") == ["花园"] and split_word("花园，", "split") == [
        "花园",
        "，",
    ]


def test_marks_and_joiners_stay_within_words():
    assert split_word("हिन्दी", "split") == ["हिन्दी"]
    assert split_word("می\u200cبینم", "split") == ["می\u200cبینم"]
    assert scripts.without_accents("Ångström") == "Angstrom"


def test_a_language_guess_is_of_the_words_given(tmp_path):
    table, _ = read(tmp_path, "zh")
    assert text_languages.contradicts(pd.concat([table] * 5), "en").startswith(
        "its words seem to be Chinese"
    )


FREQUENCIES = {"der": 0.03, "haus": 0.0003}


def test_wordfreq_gives_minus_log_frequency():
    words = recency.scoring.texts.as_words([["Der", "Haus", "Donaudampfer", "Haus"]])
    result = wordfreq_surprisal.score(words, lambda word: FREQUENCIES.get(word.lower(), 0.0), 1e-8)
    expected = -np.log2([0.03, 0.0003, 0.5e-8, 0.0003])
    np.testing.assert_allclose(result.table.surprisal_bits, expected)
    assert result.ledger.word.tolist() == ["Donaudampfer"]
    assert result.ledger.reason.tolist() == ["not in the list"]


@peer("wordfreq")
def test_wordfreq_is_asked_for_its_languages():
    import wordfreq

    frequency, rarest = wordfreq_surprisal.frequencies("de")
    assert frequency("Haus") == wordfreq.word_frequency("Haus", "de") > rarest > 0
    assert frequency("Haus,") == frequency("haus")
    with pytest.raises(REFUSALS, match="wordfreq: it has no language 'xx'"):
        wordfreq_surprisal.frequencies("xx")


def test_without_wordfreq_the_way_out_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(REFUSALS, match=r"pip install 'wordfreq\[cjk\]', or take `corpus`") as error:
        wordfreq_surprisal.frequencies("de")
    assert "\n" not in str(error.value)
