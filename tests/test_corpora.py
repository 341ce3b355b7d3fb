"""Training text: readers on hand-made files, and the open English text word for word."""

import gzip
import re
import zipfile
from pathlib import Path

import corpora
import download
import prepare_text
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpora import aochildes, nltk_plain, nltk_switchboard, nltk_tagged, novels, plain, wikitext
from hypothesis import given
from hypothesis import strategies as st
from job import InputError

OPEN_ENGLISH = Path(__file__).resolve().parents[1] / "data" / "sources" / "open_english.tsv"
OPENWEBTEXT = OPEN_ENGLISH.with_name("openwebtext.tsv")


def written(path, content):
    """Write text or bytes and give the path in a list."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [path]


def archive(path, **members):
    """Write a zip archive; `__` in a name stands for a slash."""
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "/"), content)
    return [path]


# ---------------------------------------------------------------- readers


def test_novels(tmp_path):
    path = written(tmp_path / "A_b_1900.txt", "\ufeffA\r\n\r\n\r\n\tOne  two \r\n three\r\n\r\n")
    assert list(novels.read(path)) == [("A_b_1900", "A\n One two \n three")]


def test_brown_and_masc(tmp_path):
    path = archive(
        tmp_path / "b.zip",
        brown__cb01="\n\n\tA/at 1/2/cd ./.\n\n",
        brown__ca01="B/x",
        brown__README="r",
    )
    assert list(nltk_tagged.read(path)) == [("ca01", "B"), ("cb01", "A 1/2 .")]
    path = archive(
        tmp_path / "m.zip",
        **{
            "masc_tagged__written__a.txt": "a_b_NN ._. \n\n _NN",
            "masc_tagged__categories.txt": "c",
        },
    )
    assert list(nltk_tagged.read(path)) == [("written/a", "a_b .")]
    path = archive(tmp_path / "x.zip", other__a="a/b")
    with pytest.raises(InputError, match="x.zip holds 'other'"):
        list(nltk_tagged.read(path))


def test_addresses_of_three_encodings(tmp_path):
    members = {"a__1.txt": "é—“”\n", "a__2.txt": "man’s—\u3000x".encode("big5")}
    members |= {"a__3.txt": b"\xbd\xa2 off", "a__README": "no"}
    texts = dict(nltk_plain.read(archive(tmp_path / "s.zip", **members)))
    assert texts == {"1": "é—“”", "2": "man’s— x", "3": "½¢ off"}


def test_switchboard(tmp_path):
    path = archive(tmp_path / "s.zip", switchboard__transcript="\nA.1: Hi \nB.2: Ho\n\nA.1: Ha \n")
    assert list(nltk_switchboard.read(path)) == [
        ("call01", "A.1: Hi \nB.2: Ho"),
        ("call02", "A.1: Ha"),
    ]
    assert [text for _, text in nltk_switchboard.read(path, labels=False)] == ["Hi \nHo", "Ha"]


def test_aochildes(tmp_path):
    head = "id,transcript_id,gloss,speaker_role,type,target_child_age\n"
    first = "1,12,look,Mother,declarative,700.5\n1,9,xxx see,Mother,question,30\n"
    second = "1,5,do you,Mother,question,30\n1,5,,Mother,question,30\n1,5,mine,Child,trail off,30\n"
    third = "1,4,sit,Father,imperative_emphatic,NA\n1,4,www,Father,declarative,NA\n"
    paths = written(tmp_path / "A.csv", head + first) + written(
        tmp_path / "B.csv", head + second + third
    )
    assert list(aochildes.read(paths)) == [
        ("B-5-30", "do you ?\nmine ."),
        ("A-12-700", "look ."),
        ("B-4-NA", "sit !\nwww ."),
    ]
    strict = list(aochildes.read(paths, exclude_words=["xxx", "www"], exclude_roles=["Child"]))
    assert [text for _, text in strict] == ["do you ?", "look .", "sit !"]
    with pytest.raises(InputError, match="no column gloss"):
        list(aochildes.read(written(tmp_path / "C.csv", head.replace("gloss", "text"))))


def test_wikitext(tmp_path):
    text = " \n = A b = \n \n = = C = = \n \n x @-@ y <unk> 1 @,@ 000 \n = not a title = \n"
    text += " \n = D = \n \n z \n"
    path = written(tmp_path / "valid.txt", text)
    articles = list(wikitext.read(path))
    assert [name for name, _ in articles] == ["valid-00001", "valid-00002"]
    assert " ".join(t for _, t in articles).split() == text.split()
    assert "x-y <unk> 1,000" in next(wikitext.read(path, join=True))[1]


def test_plain(tmp_path):
    path = written(tmp_path / "a.txt", "\ufeffOne\r\ntwo\n \n\nthree\n")
    assert list(plain.read(path)) == [("a", "One\ntwo\n \n\nthree\n")]
    assert list(plain.read(path, "blank_line")) == [("a-1", "One\ntwo"), ("a-2", "three")]
    assert [text for _, text in plain.read(path, "line")] == ["One", "two", "three"]
    zipped = written(tmp_path / "b.txt.gz", gzip.compress(b"x"))
    assert list(plain.read(zipped)) == [("b", "x")]
    with pytest.raises(InputError, match="documents: 'page' is not one of"):
        list(plain.read(path, "page"))
    for empty in ("", " \n \n"):
        with pytest.raises(InputError, match="e.txt is empty"):
            list(plain.read(written(tmp_path / "e.txt", empty)))


@pytest.mark.parametrize("before", [0, 3, plain.CHUNK - 1, plain.CHUNK, plain.CHUNK + 7])
def test_not_utf8_says_file_and_offset(tmp_path, before):
    path = written(tmp_path / "a.txt", b"x" * before + b"\xe9t\xe9")
    with pytest.raises(InputError, match=rf"a.txt is not UTF-8: byte 0xe9 at offset {before};"):
        list(plain.read(path))
    path = written(tmp_path / "b.txt", b"x" * before + b"\xe2\x80")
    with pytest.raises(InputError, match=rf"b.txt is not UTF-8: byte 0xe2 at offset {before};"):
        list(plain.read(path))
    if before < 10:
        with pytest.raises(InputError, match=rf"a.txt is not UTF-8: byte 0xe9 at offset {before};"):
            list(novels.read([tmp_path / "a.txt"]))


@given(text=st.text("ab \n\ré—", min_size=1), longest=st.integers(1, 9), chunk=st.integers(1, 5))
def test_plain_loses_nothing_at_any_chunk(tmp_path_factory, text, longest, chunk):
    path = written(tmp_path_factory.mktemp("plain") / "a.txt", text)
    normal = text.replace("\r\n", "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "CHUNK", chunk)
        assert "".join(plain._decoded(path[0])) == normal
        documents = list(plain._whole(plain._decoded(path[0]), longest))
        assert "".join(documents) == normal and max(map(len, documents)) <= longest
        lines = list(plain._lines(plain._decoded(path[0]), len(text)))
        assert lines == normal.split("\n")
        paragraphs = list(plain._paragraphs(plain._decoded(path[0]), len(text) + 1))
        assert "\n".join(paragraphs).split() == text.split()
        if normal.strip():
            expected = re.split(r"\n(?:[ \r]*\n)+", normal)
            assert [p.strip() for p in paragraphs if p.strip()] == [
                p.strip() for p in expected if p.strip()
            ]


def test_parquet(tmp_path):
    texts = ["one", None, " ", "two"]
    pq.write_table(pa.table({"text": texts, "url": texts}), tmp_path / "a.parquet")
    read = corpora.reader("parquet")
    assert list(read([tmp_path / "a.parquet"])) == [("a-0", "one"), ("a-3", "two")]
    with pytest.raises(InputError, match="no column 'body', only text, url"):
        list(read([tmp_path / "a.parquet"], column="body"))
    with pytest.raises(InputError, match="b.parquet is not a Parquet file"):
        list(read(written(tmp_path / "b.parquet", "text")))


# ---------------------------------------------------------------- tables and prepare_text


def table(path, *rows):
    """Write a table of sources of (part, reader)."""
    lines = ["\t".join(corpora.COLUMNS)]
    lines += [f"https://example.org/{n}\t\t\tCC0\t{p}\t{r}" for n, (p, r) in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_tables_of_the_project():
    for path in (OPEN_ENGLISH, OPENWEBTEXT):
        sources = corpora.read_sources(path)
        assert len({source.url for source in sources}) == len(sources)
        assert {source.reader for source in sources} <= set(corpora.readers())
        assert all(re.fullmatch("[0-9a-f]{64}", source.sha256 or "0" * 64) for source in sources)
    kept = corpora.read_sources(OPEN_ENGLISH, exclude=["brown"])
    assert "brown" not in {source.part for source in kept} and len(kept) == 87


def test_tables_that_are_wrong(tmp_path):
    path = table(tmp_path / "t.tsv", ("brown", "plain"))
    with pytest.raises(InputError, match="no part 'browm' to exclude.*did you mean brown"):
        corpora.read_sources(path, ["browm"])
    path.write_text(path.read_text().replace("\tCC0", "x\tCC0"))
    with pytest.raises(InputError, match="line 2: bytes is 'x'"):
        corpora.read_sources(path)
    path.write_text("url\tpart\n")
    with pytest.raises(InputError, match="columns must be url, sha256"):
        corpora.read_sources(path)
    with pytest.raises(InputError, match="no reader 'plian' .*did you mean plain"):
        corpora.reader("plian")


def test_prepare_text(tmp_path):
    path = table(tmp_path / "t.tsv", ("a", "plain"), ("a", "plain"), ("b", "plain"))
    files = [written(tmp_path / f"{n}.txt", f"text {n}\n")[0] for n in range(3)]
    out = tmp_path / "text.parquet"
    prepare_text.main(files, out, sources=path)
    first = out.read_bytes()
    assert pq.read_table(out).to_pydict() == {
        "document": ["a/0", "a/1", "b/2"],
        "text": ["text 0\n", "text 1\n", "text 2\n"],
    }
    prepare_text.main(files, out, sources=path)
    assert out.read_bytes() == first
    for given_files in (files, files[2:]):
        prepare_text.main(given_files, out, sources=path, exclude=["a"])
        assert pq.read_table(out)["document"].to_pylist() == ["b/2"]
    prepare_text.main(
        files, out, reader="plain", options={"plain": {"documents": "line"}}, row_group=8
    )
    assert pq.read_table(out)["document"].to_pylist() == ["0-1", "1-1", "2-1"]
    assert pq.read_metadata(out).num_row_groups == 3
    for wrong, message in [
        ({"files": files[:2], "sources": path}, "has 3 files, 3 of them not excluded, but 2"),
        ({"files": files}, "needs `sources`.*or a `reader`"),
        ({"files": [], "reader": "plain"}, "no file"),
        ({"files": files, "reader": "plain", "exclude": ["a"]}, "needs a table"),
        ({"files": files, "reader": "plain", "options": {"novels": {}}}, "options for novels"),
    ]:
        with pytest.raises(InputError, match=message):
            prepare_text.main(out=tmp_path / "no.parquet", **wrong)
    assert not (tmp_path / "no.parquet").exists()


# ---------------------------------------------------------------- the open English text

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
        sources = [s for s in corpora.read_sources(OPEN_ENGLISH) if s.part == part]
        files = []
        for source in sources:
            files.append(folder / part / source.url.split("/")[-1])
            download.main(source.url, files[-1], sha256=source.sha256, mirrors=[mirror])
        texts[part] = list(corpora.reader(sources[0].reader)(files))
    return texts


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
