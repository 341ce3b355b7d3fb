"""Tables of zip archives, chosen rows, parts of labels, and tables larger than memory."""

import zipfile

import pandas as pd
import pytest

from readingtimes.errors import InputError
from readingtimes.formats import anything, streamed
from readingtimes.formats.anything import Style

TEXT = 'reader,text,word,"part, of day"\n1,a.page0,"It, then",x\n2,a.page1,rained,y\n10,b.page0,all,x\n'


def frame(path, choose=list, **style):
    """Read a table as a frame of text, its lines the index."""
    return anything.read(path, Style(**style), choose).frame


def archive(path, members):
    """Write a zip archive: name → text."""
    with zipfile.ZipFile(path, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)
    return path


def test_members_become_one_table_with_the_labels_of_their_names(tmp_path):
    text = "word,ms\nIt,200\nrained,210\n"
    names = {"x/a/r10.csv": text, "x/a/r9.csv": text, "x/b/r9.csv": text, "x/read.me": "no"}
    path = archive(tmp_path / "all.zip", names)
    found = frame(path, members="{text}/r{reader}.csv")
    assert found["text"].tolist() == ["a"] * 4 + ["b"] * 2
    assert found.reader.tolist() == ["9", "9", "10", "10", "9", "9"]
    assert found.word.tolist() == ["It", "rained"] * 3
    found = frame(path, lambda header: ["ms", "reader"], members="{text}/r{reader}.csv")
    assert list(found) == ["ms", "reader"]
    found = frame(path, members="a/r*.csv", rows={"ms": 210})
    assert found.word.tolist() == ["rained", "rained"]
    faults = {
        "{text}/s*.csv": r"has no member \{text\}/s\*.csv.*It has: x/a/r10.csv",
        "{text}/r*.csv": "has two members",
    }
    for pattern, message in faults.items():
        with pytest.raises(InputError, match=message):
            frame(path, members=pattern)
    with pytest.raises(InputError, match="name its tables in options → members"):
        frame(path)
    with pytest.raises(InputError, match=r"x/a/r9.csv has no column|has no column no"):
        frame(path, members="a/r9.csv", rows={"no": "1"})


def test_a_damaged_archive_is_refused(tmp_path):
    path = archive(tmp_path / "all.zip", {"a.csv": "word,ms\n" + "It,200\n" * 500})
    data = path.read_bytes()
    path.write_bytes(data[:60] + b"\xff\xff" + data[62:])
    with pytest.raises(InputError, match="is damaged|no whole zip"):
        frame(path, members="a.csv")
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError):
        frame(tmp_path / "cut.zip", members="a.csv")


def test_rows_and_parts_of_labels(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TEXT)
    found = frame(path, rows={"part, of day": "x"})
    assert found.reader.tolist() == ["1", "10"] and found.index.tolist() == [2, 4]
    found = frame(path, lambda h: ["story", "reader"], parts={"text": "{story}.page{page}"})
    assert found.story.tolist() == ["a", "a", "b"] and list(found) == ["reader", "story"]
    found = frame(path, rows={"reader": [1, "2"]}, parts={"text": "{story}.page{page}"})
    assert found.page.tolist() == ["0", "1"]
    with pytest.raises(InputError, match="no row has .3. as reader.*there are .1., .2., .10."):
        frame(path, rows={"reader": 3})
    with pytest.raises(InputError, match="has no column raeder .*did you mean reader"):
        frame(path, rows={"raeder": 3})
    with pytest.raises(InputError, match="line 2: text is 'a.page0', which options → parts"):
        frame(path, parts={"text": "{story}.p{page}x"})
    with pytest.raises(InputError, match="is not a mapping"):
        frame(path, rows=["reader"])


@pytest.mark.parametrize("packed", [False, True])
def test_a_large_table_is_read_as_a_small_one(tmp_path, monkeypatch, packed):
    text = TEXT + "".join(f"{n},c.page{n}, w{n} ,{'xy'[n % 2]}\n" for n in range(11, 400))
    path = tmp_path / "table.csv"
    path.write_text(text)
    style = {"rows": {"part, of day": "x"}}
    if packed:
        path, style = archive(tmp_path / "t.zip", {"t.csv": text}), style | {"members": "t.csv"}
    small = frame(path, lambda header: ["word", "reader"], **style)
    monkeypatch.setattr(streamed, "LARGE", 100)
    monkeypatch.setattr(streamed, "_BLOCK", 1000)
    large = frame(path, lambda header: ["word", "reader"], **style)
    pd.testing.assert_frame_equal(
        large.astype("object"), small[["word", "reader"]].astype("object")
    )
    (tmp_path / "bad.csv").write_text(text + "1,2\n")
    with pytest.raises(InputError, match="line 39.*: .*columns"):
        frame(tmp_path / "bad.csv")


def test_patterns_of_members():
    expression = streamed.compiled("data/{text}/r{reader}_*.csv")
    assert expression.fullmatch("all/data/a/r1_x.csv").groupdict() == {"text": "a", "reader": "1"}
    assert expression.fullmatch("data/a/b/r1_x.csv") is None
    with pytest.raises(InputError, match="cannot be read"):
        streamed.compiled("{a}{a}")
