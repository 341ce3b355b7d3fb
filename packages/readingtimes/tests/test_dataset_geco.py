"""GECO's workbooks, and what any workbook may hold."""

import zipfile

import pytest
from openpyxl import Workbook

from parsing import read, write
from readingtimes import parsers
from readingtimes.errors import InputError
from readingtimes.formats import xlsx


def workbook(path, sheet, rows):
    """Write a workbook of one sheet."""
    book = Workbook()
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def geco(tmp_path, measure):
    header = ["WORD_ID", "SENTENCE_ID", "WORD"]
    texts = [("1-5-1", "1-1", "The"), ("1-5-2", "1-1", "end."), ("1-5-3", "#N/A", "Now"),
             ("1-6-1", "1-2", "go"), ("1-6-2", "1-2", "on"), ("1-6-3", "1-2", None)]  # fmt: skip
    material = workbook(tmp_path / "EnglishMaterial.xlsx", "ALL", [header, *texts])
    header = ["PP_NR", "WORD_ID", "WORD_FIRST_FIXATION_TIME", "WORD_GAZE_DURATION",
              "WORD_GO_PAST_TIME", "WORD_TOTAL_READING_TIME"]  # fmt: skip
    rows = [("pp21", "1-5-1", 10, 200, 200, 200), ("pp21", "1-5-2", 900, 150, 150, 150),
            ("pp21", "1-5-3", 300, 180, 400, 380), ("pp21", "1-6-1", ".", ".", ".", "."),
            ("pp21", "1-6-2", 1200, 210, 210, 210), ("pp21", "9-9-9", 1, 1, 1, 1)]  # fmt: skip
    data = workbook(tmp_path / "MonolingualReadingData.xlsx", "DATA", [header, *rows])
    return read("geco", {"material": material}, {"material": material, "data": data}, measure)


def test_gecos_workbooks(tmp_path, capsys):
    found, got = geco(tmp_path, "FP")
    assert found.word.tolist() == ["The", "end.", "Now", "go", "on"]
    assert found.sentence.tolist() == [1, 1, 1, 2, 2]
    # "end." was first read after "Now", to its right: no first pass.
    assert got.time_ms.tolist() == [200, 0, 180, 0, 210]
    assert got.words_since_fixation[[0, 2, 4]].tolist() == [0, 2, 0]
    assert not got.previous_fixated.any()
    assert geco(tmp_path, "GP")[1].time_ms.tolist() == [200, 0, 400, 0, 210]
    assert geco(tmp_path, "TFT")[1].time_ms.tolist() == [200, 150, 380, 0, 210]
    told = capsys.readouterr().err
    for part in ("without a word", "joined to that before them", "that the material lacks"):
        assert part in told


def test_gecos_faults_are_told(tmp_path):
    book = workbook(tmp_path / "m.xlsx", "ALL", [["WORD_ID", "SENTENCE", "WORD"], ["1", "2", "x"]])
    with pytest.raises(InputError, match=r"no column SENTENCE_ID; did you mean SENTENCE\?"):
        parsers.parser("geco").words({"m": book})
    book = workbook(tmp_path / "m.xlsx", "SENTENCE", [["WORD_ID"], ["1"]])
    with pytest.raises(InputError, match="m.xlsx has no sheet ALL; it has: SENTENCE$"):
        parsers.parser("geco").words({"m": book})
    header = ["WORD_ID", "SENTENCE_ID", "WORD"]
    rows = [header, ["1-5-1", "1-1", "The"], [], ["1-5", "1-1", "end."]]
    with pytest.raises(InputError, match="line 4: WORD_ID is '1-5', expected part-trial-word"):
        parsers.parser("geco").words({"m": workbook(tmp_path / "m.xlsx", "ALL", rows)})
    with pytest.raises(InputError, match="m.xlsx, sheet ALL, has no rows$"):
        parsers.parser("geco").words({"m": workbook(tmp_path / "m.xlsx", "ALL", [header])})
    text = "WORD_ID\tSENTENCE_ID\tWORD\n1-5\t1-1\tThe\n"
    with pytest.raises(InputError, match="line 2: WORD_ID is '1-5', expected part-trial-word"):
        parsers.parser("geco").words({"m": write(tmp_path / "m.csv", text)})


def test_cells_of_a_workbook_are_spelled_as_excel_shows_them(tmp_path):
    rows = [["a", "b", "c"], [1, 0.25, True], [], [None, " x ", "#N/A"], [1e-05, "", 0]]
    book = workbook(tmp_path / "book.xlsx", "S", rows)
    table = xlsx.read(book, "S", ["c", "a", "b"])
    assert table.frame.index.tolist() == [2, 4, 5]
    assert table["a"].tolist() == ["1", "", "1e-05"]
    assert table["b"].tolist() == ["0.25", "x", ""]
    assert table["c"].tolist() == ["TRUE", "#N/A", "0"]


def test_a_sheet_that_gives_itself_a_wrong_size_is_read_to_its_end(tmp_path):
    book = workbook(tmp_path / "book.xlsx", "S", [["a", "b"], [1, 2], [3, 4]])
    with zipfile.ZipFile(book) as old, zipfile.ZipFile(tmp_path / "odd.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'ref="A1:B3"', b'ref="A1"'))
        assert b'ref="A1:B3"' in old.read("xl/worksheets/sheet1.xml")
    assert xlsx.read(tmp_path / "odd.xlsx", "S", ["b"])["b"].tolist() == ["2", "4"]


def test_a_damaged_workbook_is_an_error_of_the_user(tmp_path):
    book = workbook(tmp_path / "book.xlsx", "S", [["a"], *([n] for n in range(999))])
    with zipfile.ZipFile(book) as old, zipfile.ZipFile(tmp_path / "cut.xlsx", "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data[: len(data) // 2] if "sheet1" in name else data)
    with pytest.raises(InputError, match="cut.xlsx is damaged .*; get it again"):
        xlsx.read(tmp_path / "cut.xlsx", "S", ["a"])
