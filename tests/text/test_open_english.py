"""The open English text, read from its originals, against a reference, word for word."""

import gzip
import re
from pathlib import Path

import pytest

from readingtimes.downloads import download
from recency import sources
from recency.text import readers

OPEN_ENGLISH = Path(__file__).resolve().parents[2] / "data" / "sources" / "open_english.tsv"
# Two transcripts are absent from the reference text; nothing in them says why.
NOT_IN_REFERENCE = {"Snow-6789-901", "Sawyer-4332-NA"}
PARTS = {
    "novels": ["novels.part1", "novels.part2", "novels.part3"],
    "brown": ["brown_corpus"],
    "childes": ["childes_adult_speech"],
    "masc": ["masc"],
    "inaugural": ["inaugural"],
    "state_union": ["state_union"],
    "switchboard": ["switchboard_sample"],
    "wikitext2_valid": ["wikitext2_valid"],
    "wikitext2_test": ["wikitext2_test"],
}


@pytest.fixture(scope="module")
def open_english(mirror, tmp_path_factory):
    """Read each part from the originals, copied from the mirror: part → [(document, text)]."""
    folder = tmp_path_factory.mktemp("originals")
    texts = {}
    for part in PARTS:
        rows = [source for source in sources.read(OPEN_ENGLISH) if source.part == part]
        files = []
        for source in rows:
            files.append(folder / part / source.url.split("/")[-1])
            download.main(source.url, files[-1], sha256=source.sha256, mirrors=[mirror])
        texts[part] = list(readers.reader(rows[0].reader)(files))
    return texts


@pytest.mark.merge
@pytest.mark.parametrize("part", PARTS)
def test_open_english_is_the_reference_word_for_word(part, open_english, shared_data):
    reference = ""
    for name in PARTS[part]:
        path = shared_data / "text_english" / f"{name}.txt.gz"
        reference += gzip.decompress(path.read_bytes()).decode()
    documents = re.split(r"(?m)^<<<.*>>>\n", reference)
    mine = [(n, text.split()) for n, text in open_english[part] if n not in NOT_IN_REFERENCE]
    if part == "childes":
        absent = [len(t.split()) for n, t in open_english[part] if n in NOT_IN_REFERENCE]
        assert sorted(absent) == [3785, 10360]
    if len(documents) == 1:
        assert [word for _, words in mine for word in words] == reference.split()
        return
    assert len(mine) == len(documents) - 1
    for (name, words), document in zip(mine, documents[1:]):
        if "\ufffd" not in document:
            assert words == document.split(), name
            continue
        # Seven addresses are not UTF-8; the reference has lost those bytes, the rest is the same.
        rest = re.sub(r"\ufffd+[X@K]?", "", document)
        assert len(words) == pytest.approx(len(document.split()), abs=8), name
        assert re.sub(r"[^!-~]", "", "".join(words)) == re.sub(r"[^!-~]", "", rest), name


@pytest.mark.merge
def test_open_english_counts(open_english):
    words = {part: sum(len(t.split()) for _, t in texts) for part, texts in open_english.items()}
    assert words["novels"] == 6_997_015 and words["brown"] == 1_161_192
    assert {part: len(texts) for part, texts in open_english.items()} == {
        "novels": 60,
        "brown": 500,
        "childes": 973,
        "masc": 392,
        "inaugural": 59,
        "state_union": 65,
        "switchboard": 36,
        "wikitext2_valid": 60,
        "wikitext2_test": 60,
    }
    assert sum(words.values()) == 10_767_722
