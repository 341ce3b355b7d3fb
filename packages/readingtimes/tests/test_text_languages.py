"""Texts of several languages, or of another one than stated, are refused; related ones are not."""

import pandas as pd
import pytest

from readingtimes import gate, text_languages
from readingtimes.contracts import check_words, word_table
from readingtimes.errors import InputError

ENGLISH = [
    "He",
    "was",
    "in",
    "the",
    "garden",
    "and",
    "it",
    "was",
    "dark,",
    "so",
    "that",
    "she",
    "had",
    "not",
    "seen",
    "him",
    "at",
    "the",
    "gate.",
]
GERMAN = [
    "Er",
    "ist",
    "in",
    "dem",
    "Garten",
    "und",
    "sie",
    "hat",
    "ihn",
    "nicht",
    "gesehen,",
    "denn",
    "es",
    "war",
    "auf",
    "dem",
    "Hof",
    "dunkel.",
]
CHINESE = list("他在花园里她没有看见他因为天黑了我们都知道这件事情")
TURKISH = [
    "Bu",
    "ev",
    "çok",
    "eski",
    "ama",
    "bahçe",
    "daha",
    "güzel",
    "ve",
    "bir",
    "kedi",
    "için",
    "de",
    "yer",
    "var",
    "gibi",
]


def words(*texts):
    rows = [(str(n), word) for n, text in enumerate(texts, 1) for word in text]
    items, listed = zip(*rows, strict=True)
    return check_words(word_table(items, [*map(int, items)], listed), "made")


def test_texts_of_one_language_pass():
    for language in (ENGLISH, GERMAN, CHINESE, TURKISH):
        assert text_languages.mixed(words(*[language * 5] * 6)) == ""


@pytest.mark.parametrize(
    "other, name", [(GERMAN, "German"), (CHINESE, "Chinese"), (TURKISH, "Turkish")]
)
def test_texts_of_two_languages_are_named(other, name):
    table = words(*[ENGLISH * 5] * 4, *[other * 5] * 2)
    message = text_languages.mixed(table)
    assert (
        message == f"its texts are of several languages: English (text '1') and {name} (text '5')"
    )
    responses = pd.DataFrame({"subject": ["a"] * 9, "word_id": range(9), "time_ms": 300.0})
    with pytest.raises(InputError, match=r"mine\.SPR: its texts are of several languages") as error:
        gate.require_usable(table, responses, "mine.SPR")
    assert "accept: [mixed_languages]" in str(error.value) and "\n" not in str(error.value)
    gate.require_usable(table, responses, "mine.SPR", accept=["mixed_languages"])


def test_short_texts_are_taken_together():
    table = words(*[ENGLISH] * 20, *[GERMAN] * 20)
    assert "English (text '1') and German" in text_languages.mixed(table)


def test_a_quotation_is_no_second_language():
    assert text_languages.mixed(words(*[ENGLISH * 5] * 20, GERMAN * 5)) == ""


def test_another_language_than_stated_is_refused():
    table = words(*[GERMAN * 5] * 4)
    assert text_languages.contradicts(table, "de") == ""
    message = "its words seem to be German, and its language is en (English)"
    assert text_languages.contradicts(table, "en") == message
    responses = pd.DataFrame({"subject": ["a"] * 9, "word_id": range(9), "time_ms": 300.0})
    with pytest.raises(InputError, match="language is en .* State the language of datasets → mine"):
        gate.require_usable(table, responses, "mine.SPR", language="en")


def test_a_language_that_is_not_distinguished_is_not_judged():
    assert text_languages.contradicts(words(*[ENGLISH * 5] * 4), "is") == ""
    assert text_languages.contradicts(words(["Zug", "und", "Baum"]), "en") == ""


def test_potec_is_german(shared_data):
    table = pd.read_csv(shared_data / "potec" / "potec_words.tsv.gz", sep="\t")
    texts = [list(part.WORD.astype(str)) for _, part in table.groupby("itemid")]
    corpus = words(*texts)
    assert text_languages.mixed(corpus) == ""
    assert text_languages.contradicts(corpus, "de") == ""
    assert "German" in text_languages.contradicts(corpus, "en")
