"""Readers of text to train on, on files made by hand."""

import functools
import gc
import gzip
import itertools
import re
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recency.errors import InputError
from recency.text import readers, utf8
from recency.text.readers import (
    aochildes,
    babylm,
    nltk_plain,
    nltk_switchboard,
    nltk_tagged,
    novels,
    parquet,
    plain,
    wikitext,
)


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


PARTING = re.compile(r"(?<=\n \n) = (?!= )[^\n]+? = (?=\n \n)")


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([" ", " = A b = ", " = = C = = ", " = ", " x = y ", "z"]), max_size=12)
)
def test_wikitext_parts_as_one_expression_over_the_whole_does(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("wikitext")
    lines = [*lines, " "]
    text = "\n" + "".join(f"{line}\n" for line in lines)
    starts = [match.start() for match in PARTING.finditer(text)]
    ends = [0, *starts, len(text)]
    expected = [text[a:b].strip() for a, b in itertools.pairwise(ends) if text[a:b].strip()]
    path = written(folder / "a.txt", text[1:])
    assert [article for _, article in wikitext.read(path)] == expected
    # A line a row, as the Hub has it: blank ones empty, others with their ends.
    rows = [f"{line}\n" if line.strip() else "" for line in lines]
    pq.write_table(pa.table({"text": pa.array(rows, pa.string())}), folder / "a.parquet")
    articles = [article for _, article in wikitext.read([folder / "a.parquet"])]
    assert [a.split() for a in articles] == [a.split() for a in expected]


def test_wikitext_without_titles_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "LONGEST", 20)
    path = written(tmp_path / "a.txt", "one two three\n" * 4)
    pieces = [text for _, text in wikitext.read(path)]
    assert len(pieces) > 1 and "\n".join(pieces).split() == path[0].read_text().split()


def babylm_zip(path, folder="babylm_data", **tracks):
    """Write an archive as BabyLM's: tracks → sources → text, and what macOS adds."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for track, sources in tracks.items():
            for source, text in sources.items():
                file.writestr(f"{folder}/{track}/{source}.train", text)
                file.writestr(f"__MACOSX/{folder}/{track}/._{source}.train", b"\x00\x05\x16\x07")
        file.writestr(f"{folder}/babylm_dev/cbt.dev", "not for training")
    return [path]


def test_babylm(tmp_path):
    small = {
        "gutenberg": "= = = PG1 = = =\n\nA book.\nOf two lines.\n\n = = = PG2 = = = \nB\n",
        "aochildes": "Look .\nWhat's that ?\n",
        "qed": "caf\u00e9\r\nx = = = y\n",
        "cbt": " \n\n",
    }
    path = babylm_zip(tmp_path / "b.zip", babylm_10M=small, babylm_100M={"cbt": "A tale ."})
    assert list(babylm.read(path)) == [
        ("aochildes-00001", "Look .\nWhat's that ?\n"),
        ("gutenberg-00001", "= = = PG1 = = =\n\nA book.\nOf two lines.\n"),
        ("gutenberg-00002", " = = = PG2 = = = \nB\n"),
        ("qed-00001", "caf\u00e9\nx = = = y\n"),
    ]
    assert list(babylm.read(path, track="strict")) == [("cbt-00001", "A tale .")]
    later = babylm_zip(tmp_path / "train_10M.zip", ".", train_10M={"childes": "*MOT: look ."})
    assert list(babylm.read(later)) == [("childes-00001", "*MOT: look .")]
    pieces = [text for _, text in babylm.read(path, longest=15)]
    assert max(map(len, pieces)) <= 15
    assert " ".join(pieces).split() == " ".join(t for _, t in babylm.read(path)).split()


def test_babylm_that_is_not_there(tmp_path):
    path = babylm_zip(tmp_path / "b.zip", babylm_10M={"cbt": "a " * 5000 + "z\n"})
    with pytest.raises(InputError, match="track: 'small' is not one of strict-small, strict"):
        list(babylm.read(path, track="small"))
    with pytest.raises(InputError, match=r"b.zip has no folder …_100M .*but babylm_10M; take"):
        list(babylm.read(path, track="strict"))
    damaged = bytearray(path[0].read_bytes())
    damaged[90] ^= 0xFF
    for data in (bytes(damaged), damaged[:60], b"<html>", b""):
        with pytest.raises(InputError, match="c.zip is damaged, or no zip"):
            list(babylm.read(written(tmp_path / "c.zip", bytes(data))))
    latin = babylm_zip(tmp_path / "d.zip", babylm_10M={"qed": b"abc\xe9t\xe9"})
    with pytest.raises(
        InputError,
        match="d.zip, babylm_data/babylm_10M/qed.train is not UTF-8: byte 0xe9 at offset 3",
    ):
        list(babylm.read(latin))


def large_files(folder, copies):
    """Write the same text `copies` times over in each of the large corpora's formats."""
    folder.mkdir()
    article = "\n \n = Title {} = \n \n" + " plain words of an article ," * 200 + " \n"
    lines = [line for n in range(copies) for line in article.format(n).split("\n")[1:]]
    rows = [f"{line}\n" if line.strip() else "" for line in lines]
    pq.write_table(pa.table({"text": rows}), folder / "wikitext.parquet", row_group_size=200)
    written(folder / "wikitext.txt", "\n".join(lines))
    pages = [article.format(n) for n in range(copies)]
    pq.write_table(pa.table({"text": pages}), folder / "openwebtext.parquet", row_group_size=20)
    book = "= = = PG{} = = =\n" + "A line of a book , and another .\n" * 250
    book = "".join(book.format(n) for n in range(copies))
    babylm_zip(folder / "babylm.zip", babylm_10M={"gutenberg": book, "qed": book.replace("=", "")})


@pytest.mark.merge
@pytest.mark.parametrize(
    "reader,name",
    [
        (wikitext.read, "wikitext.txt"),
        (wikitext.read, "wikitext.parquet"),
        (parquet.read, "openwebtext.parquet"),
        (babylm.read, "babylm.zip"),
    ],
)
def test_memory_is_flat_in_the_size_of_the_corpus(tmp_path, monkeypatch, reader, name):
    monkeypatch.setattr(utf8, "CHUNK", 1 << 16)
    small = {babylm.read: {"longest": 1 << 16}, parquet.read: {"rows_at_once": 20}}
    reader = functools.partial(reader, **small.get(reader, {}))
    peaks, words = [], []
    for copies in (60, 600):
        large_files(tmp_path / str(copies), copies)
        gc.collect()
        pa.default_memory_pool().release_unused()
        arrow = pa.total_allocated_bytes()
        high = 0
        tracemalloc.start()
        counted = 0
        for _, text in reader([tmp_path / str(copies) / name]):
            counted += len(text.split())
            high = max(high, pa.total_allocated_bytes() - arrow)
        peaks.append(tracemalloc.get_traced_memory()[1] + high)
        tracemalloc.stop()
        words.append(counted)
    assert words[1] == pytest.approx(10 * words[0], rel=0.01) and words[1] > 700_000
    assert peaks[1] < 1.2 * peaks[0] + 200_000


def test_parquet_damaged_within(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"{n} text" * 50 for n in range(2000)]}), path,
                   row_group_size=500, compression="zstd")  # fmt: skip
    data = bytearray(path.read_bytes())
    assert len(list(parquet.read([path]))) == 2000
    column = pq.read_metadata(path).row_group(2).column(0)
    start = min(s for s in (column.data_page_offset, column.dictionary_page_offset) if s)
    data[start : start + 40] = bytes(40)
    with pytest.raises(InputError, match=r"b.parquet is damaged after row \d+"):
        list(parquet.read(written(tmp_path / "b.parquet", bytes(data))))


def test_plain(tmp_path):
    path = written(tmp_path / "a.txt", "\ufeffOne\r\ntwo\n \n\nthree\n")
    assert list(plain.read(path)) == [("a", "One\ntwo\n \n\nthree\n")]
    assert list(plain.read(path, "blank_line")) == [("a-1", "One\ntwo"), ("a-2", "three")]
    assert [text for _, text in plain.read(path, "line")] == ["One", "two", "three"]
    zipped = written(tmp_path / "b.txt.gz", gzip.compress(b"x"))
    assert list(plain.read(zipped)) == [("b", "x")]
    written(zipped[0], gzip.compress(b"x y z " * 99)[:-9])
    with pytest.raises(InputError, match="b.txt.gz: the gzip is damaged or truncated"):
        list(plain.read(zipped))
    with pytest.raises(InputError, match="documents: 'page' is not one of"):
        list(plain.read(path, "page"))
    for empty in ("", " \n \n"):
        with pytest.raises(InputError, match="e.txt is empty"):
            list(plain.read(written(tmp_path / "e.txt", empty)))


@pytest.mark.parametrize("before", [0, 3, utf8.CHUNK - 1, utf8.CHUNK, utf8.CHUNK + 7])
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
        patch.setattr(utf8, "CHUNK", chunk)
        assert "".join(utf8.decoded_file(path[0])) == normal
        documents = list(plain._cut(utf8.decoded_file(path[0]), longest))
        assert "".join(documents) == normal and max(map(len, documents)) <= longest
        lines = list(plain.lines(utf8.decoded_file(path[0]), len(text)))
        assert lines == normal.split("\n")
        paragraphs = list(plain._paragraphs(utf8.decoded_file(path[0]), len(text) + 1))
        assert "\n".join(paragraphs).split() == text.split()
        if normal.strip():
            expected = re.split(r"\n(?:[ \r]*\n)+", normal)
            assert [p.strip() for p in paragraphs if p.strip()] == [
                p.strip() for p in expected if p.strip()
            ]


def test_a_large_parquet_file_is_read_a_row_group_at_a_time(tmp_path):
    noise = np.random.default_rng(1).integers(32, 127, (40, 1 << 19), dtype=np.uint8)
    texts = pa.table({"text": [row.tobytes().decode() for row in noise]})
    pq.write_table(texts, tmp_path / "large.parquet", row_group_size=1)
    del texts
    before = pa.total_allocated_bytes()
    held = [
        pa.total_allocated_bytes() - before
        for _ in readers.reader("parquet")([tmp_path / "large.parquet"])
    ]
    assert len(held) == 40 and max(held) < 4 << 20  # of 20 MB


def test_parquet(tmp_path):
    texts = ["one", None, " ", "two"]
    pq.write_table(pa.table({"text": texts, "url": texts}), tmp_path / "a.parquet")
    read = readers.reader("parquet")
    assert list(read([tmp_path / "a.parquet"])) == [("a-0", "one"), ("a-3", "two")]
    with pytest.raises(InputError, match="no column 'body', only text, url"):
        list(read([tmp_path / "a.parquet"], column="body"))
    with pytest.raises(InputError, match="b.parquet is not a Parquet file"):
        list(read(written(tmp_path / "b.parquet", "text")))
