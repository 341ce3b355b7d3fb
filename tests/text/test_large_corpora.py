"""Text8 and Wikipedia's dumps: synthetic files of their formats, cuts by words, and what is refused."""

import re
import zipfile
from itertools import pairwise

import numpy as np
import pytest
import yaml

from loaded import study_of
from project import ROOT, load
from recency import config as configuration
from recency.errors import InputError
from recency.text import cuts, prepare, utf8
from recency.text.readers import text8, wikipedia_dump

CORPORA = yaml.safe_load((ROOT / "data" / "corpora" / "large_text.yaml").read_text())


def zipped(path, text, name="inside"):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, text)
    return path


def joined(documents):
    return " ".join(text for _, text in documents)


@pytest.fixture(scope="module")
def letters():
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcxyz"), random.integers(1, 9))) for _ in range(25_300)]
    return " " + " ".join(words)


def test_text8_is_read_in_blocks_of_words(tmp_path, letters, monkeypatch):
    monkeypatch.setattr(utf8, "CHUNK", 1000)  # ends within words
    (tmp_path / "text8").write_text(letters)
    for path in (tmp_path / "text8", zipped(tmp_path / "text8.zip", letters)):
        found = list(text8.read([path], characters=len(letters)))
        assert [name for name, _ in found] == ["block-1", "block-2", "block-3"]
        assert [len(text.split()) for _, text in found] == [10_000, 10_000, 5_300]
        assert joined(found) == letters.strip()
    held_out = joined(text8.read([path], words=[9_990, 20_010]))
    assert held_out.split() == letters.split()[9_990:20_010]
    (tmp_path / "ended").write_text(letters + "\n")
    assert joined(text8.read([tmp_path / "ended"], characters=len(letters))) == letters.strip()


@pytest.mark.parametrize(
    ("text", "settings", "said"),
    [
        ("one two Three", {}, "'T' at character 8 is not a letter"),
        ("one two", {"characters": 9}, "7 characters, not 9; get it again"),
        ("one two", {"words": [1, 5]}, "words: 1 to 5 are requested, but the text has 2"),
        ("one two", {"words": [2, None]}, "words: 2 to the end are requested, but the text has 2"),
        ("one two", {"words": [2, 2]}, r"words: \[2, 2\] is empty"),
    ],
)
def test_other_text_is_refused(tmp_path, text, settings, said):
    (tmp_path / "text8").write_text(text)
    with pytest.raises(InputError, match=said):
        list(text8.read([tmp_path / "text8"], **settings))


def test_archives_that_are_none_are_refused(tmp_path):
    (tmp_path / "a.zip").write_text("no zip")
    with pytest.raises(InputError, match="is damaged, or no zip"):
        list(cuts.chunks(tmp_path / "a.zip"))
    zipped(tmp_path / "b.zip", "a")
    with zipfile.ZipFile(tmp_path / "b.zip", "a") as archive:
        archive.writestr("other", "b")
    with pytest.raises(InputError, match="has 2 files, not one"):
        list(cuts.chunks(tmp_path / "b.zip"))


PAGES = """<mediawiki>
  <page>
    <title>Fish</title>
      <text xml:space="preserve">'''Fish''' are [[animal]]s of the [[Sea|deep sea]], 1,200 kinds.&lt;ref name="a"&gt;[http://x.org A book]&lt;/ref&gt;
[[Image:Fish.jpg|thumb|200px|A [[cod|small cod]] &amp;amp; a hook]]
== Food ==
{{Box|{{inner}}
|more}}Don't eat [http://example.org/a?b=c raw fish] &amp;ndash; ever&lt;br/&gt;.
{| class="x"
| cell {| nested |} || cell
|}
&lt;!-- hidden
comment --&gt;
* Über [[Category:Water animals]] [[de:Fisch]] [[fr:Poisson]]</text>
  </page>
  <page><text xml:space="preserve">#REDIRECT [[Fish]]</text></page>
  <page><text xml:space="preserve" /></page>
  <page><text xml:space="preserve">One line only.</text></page>
  <page><text xml:space="preserve">The end is cut
off he"""
SEEN = [
    "fish are animals of the deep sea , 1,200 kinds .",
    "a small cod & a hook",
    "food",
    "don't eat raw fish – ever .",
    "über water animals",
    "one line only .",
    "the end is cut",
    "off he",
]


def test_a_dump_is_the_text_that_readers_of_its_pages_see(tmp_path, monkeypatch):
    path = zipped(tmp_path / "enwik9.zip", PAGES)
    found = list(wikipedia_dump.read([path]))
    assert [text for _, text in found] == SEEN
    assert len({name for name, _ in found}) == len(SEEN)
    monkeypatch.setattr(utf8, "CHUNK", 7)
    assert list(wikipedia_dump.read([path])) == found
    spelled = [text for _, text in wikipedia_dump.read([path], letters=True)]
    assert spelled[0] == "fish are animals of the deep sea one two zero zero kinds"
    assert spelled[3:5] == ["don t eat raw fish ever", "ber water animals"]
    assert not re.search("[^a-z ]", " ".join(spelled))
    (tmp_path / "plain").write_text("no pages")
    with pytest.raises(InputError, match="has no <text>"):
        list(wikipedia_dump.read([tmp_path / "plain"]))


def test_parts_of_a_dump_are_its_words_in_order(tmp_path):
    path = zipped(tmp_path / "enwik9.zip", PAGES)
    whole = " ".join(SEEN).split()
    ends = [0, 13, 21, None]
    parts = [joined(wikipedia_dump.read([path], words=part)) for part in pairwise(ends)]
    assert [part.split() for part in parts] == [whole[:13], whole[13:21], whole[21:]]


def test_the_configured_parts_are_as_large_as_the_thesis_s():
    parts = {
        name: CORPORA["corpora"][name]["options"]["wikipedia_dump"]["words"]
        for name in ("ltcb", "ltcb-valid", "ltcb-test")
    }
    assert parts == {
        "ltcb": [0, 133_000_000],
        "ltcb-valid": [133_000_000, 140_800_000],
        "ltcb-test": [140_800_000, None],
    }
    assert CORPORA["tokenizers"]["ltcb"]["vocabulary"] == 80_000


def test_the_page_says_which_perplexities_compare():
    """N-grams have all words of the text, and networks those of the tokenizer, with [unk] for others."""
    study = study_of(load("config/ltcb.yaml"))
    for name in ("ltcb_srnn", "ltcb_lsrc"):
        for lm in study.config["experiments"][name]["lms"]:
            if configuration.kind_of(study.lms[lm]) == "ngram":
                assert study.ngram_text(lm) == "<results>/corpora/ltcb/text.parquet"
                assert configuration.unknown_word(study.config, lm) is None
            elif configuration.kind_of(study.lms[lm]) == "network":
                assert configuration.unknown_word(study.config, lm) == "[unk]"
    page = " ".join((ROOT / "docs" / "large_corpora.md").read_text().split())
    assert "compare among the LMs here" not in page
    assert (
        "compare among the networks, among the n-grams and among those with a cache, but not"
        in page
    )


def test_corpora_are_prepared_with_their_options(tmp_path, letters):
    import pyarrow.parquet as pq

    path = zipped(tmp_path / "text8.zip", letters)
    options = {"text8": {"characters": len(letters), "words": [0, 100]}}
    prepare.main([path], tmp_path / "out.parquet", reader="text8", options=options)
    (text,) = pq.read_table(tmp_path / "out.parquet")["text"].to_pylist()
    assert text.split() == letters.split()[:100]
