"""Damaged tables of one's own: one line with the file's name, or the right answer; never a traceback."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from own_corpus import WORDS, parsed, readings, right
from readingtimes.errors import InputError
from readingtimes.formats import anything

pytestmark = pytest.mark.merge

COLUMNS = ["item", "sentence", "position", "word", "subject", "rt"]
FRAME = readings()[COLUMNS]
TEXT = FRAME.to_csv(index=False)
LINES = TEXT.splitlines(keepends=True)


def lines(*changes):
    """Replace lines of the table, by their numbers from 1; None takes one out."""
    changed = dict(changes)
    kept = [changed.get(n, line) for n, line in enumerate(LINES, 1)]
    return "".join(line for line in kept if line is not None)


def cell(column, value, line=4):
    """Replace a cell."""
    parts = next(iter(pd.read_csv(io.StringIO(LINES[line - 1]), header=None, dtype=str).values))
    parts[COLUMNS.index(column)] = value
    row = io.StringIO()
    pd.DataFrame([parts]).to_csv(row, index=False, header=False)
    return lines((line, row.getvalue()))


def header(old, new):
    """Rename in the header."""
    return LINES[0].replace(old, new, 1) + "".join(LINES[1:])


def parquet(frame=FRAME, cut=None, **settings):
    """Write Parquet, cut off at a share."""
    out = io.BytesIO()
    frame.to_parquet(out, **settings)
    data = out.getvalue()
    return data if cut is None else data[: int(len(data) * cut)]


def feather(cut):
    """Write Feather, cut off at a share."""
    out = io.BytesIO()
    FRAME.to_feather(out)
    return out.getvalue()[: int(len(out.getvalue()) * cut)]


def workbook(cut=1.0, sheet="data"):
    """Write a workbook, cut off at a share."""
    out = io.BytesIO()
    FRAME.to_excel(out, index=False, sheet_name=sheet)
    return out.getvalue()[: int(len(out.getvalue()) * cut)]


def flipped(data, at):
    """Change a byte."""
    at = int(len(data) * at)
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


ZIPPED = gzip.compress(TEXT.encode(), mtime=0)
#: name → (what the file holds, what the error says; "" if the answer is right all the same)
DAMAGES = {
    "nothing": (b"", "is empty"),
    "a space": (b" ", "is empty"),
    "line ends": (b"\n\n\n", "is empty"),
    "header alone": (LINES[0], "no rows"),
    "header cut": (TEXT[:9], "has no column|no rows"),
    "no header": ("".join(LINES[1:]), "has no column word"),
    "empty line before": ("\n" + TEXT, "line 1 is empty"),
    "empty line within": (lines((4, "\n" + LINES[3])), ""),
    "empty line of commas": (lines((4, ",,,,,\n" + LINES[3])), ""),
    "header again": (TEXT + TEXT, "line 41: the header again"),
    "cut in a row": (TEXT[:-9], "line 40: 4 fields"),
    "last line end lost": (TEXT[:-1], ""),
    "a field less": (lines((4, "harbour,1,3,turned,p1\n")), "line 4: 5 fields"),
    "a field more": (lines((4, LINES[3].strip() + ",1\n")), "line 4: 7 fields"),
    "quote opened": (lines((4, 'harbour,1,3,"turned,p1,220\n')), "line"),
    "quote within": (lines((4, 'harbour,1,3,tur"ned",p1,220\n')), "tur|word 3"),
    "byte order mark": ("\ufeff" + TEXT, ""),
    "two byte order marks": ("\ufeff\ufeff" + TEXT, ""),
    "CRLF": (TEXT.replace("\n", "\r\n"), ""),
    "CR": (TEXT.replace("\n", "\r"), ""),
    "UTF-16": (TEXT.encode("utf-16"), ""),
    "UTF-16 cut": (TEXT.encode("utf-16")[:-1], "is UTF-16 text with a damaged place"),
    "UTF-16 without a mark": (TEXT.encode("utf-16-le"), "line 1: a zero byte"),
    "Latin-1": (TEXT.replace("Nobody", "Nobödy").encode("latin-1"), "line 6: byte 0xf6 is not"),
    "zero byte": (cell("rt", "2\0"), "line 4: a zero byte"),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "zero byte|not utf-8"),
    "HTML": ("<html><body>404</body></html>\n", "is a web page"),
    "JSON": ('{"item": 1}\n', "has no column"),
    "zip": (b"PK\x03\x04" + bytes(40), "damaged workbook"),
    "old Excel": (b"\xd0\xcf\x11\xe0" + bytes(40), "old Excel workbook"),
    "gzip": (ZIPPED, ""),
    "gzip cut": (ZIPPED[:-20], "is damaged"),
    "gzip cut at its head": (ZIPPED[:6], "is damaged"),
    "gzip flipped": (flipped(ZIPPED, 0.5), "is damaged"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "gzip in gzip": (gzip.compress(ZIPPED), "not utf-8|zero byte|control"),
    "parquet": (parquet(), ""),
    "parquet with an index": (parquet(FRAME.set_index("subject")), ""),
    "parquet cut": (parquet(cut=0.5), "no whole Parquet file"),
    "parquet's first bytes": (b"PAR1", "no whole Parquet file"),
    "parquet flipped": (flipped(parquet(), 0.98), "no whole Parquet file|cannot be read"),
    "parquet without rows": (parquet(FRAME[:0]), "has no rows"),
    "parquet of floats": (parquet(FRAME.astype({"sentence": float, "position": float})), ""),
    "parquet with nulls": (parquet(FRAME.assign(rt=FRAME.rt.where(FRAME.rt > 200))), "dropped"),
    "feather cut": (feather(0.5), "no whole Feather file"),
    "workbook cut": (workbook(0.6), "damaged workbook|is a zip"),
    "workbook flipped": (flipped(workbook(), 0.4), "damaged|has no"),
    "column renamed": (header("rt", "RT"), "no column rt; did you mean RT"),
    "column in capitals": (header("word", "WORD"), "no column word; did you mean WORD"),
    "column lost": (FRAME.drop(columns="item").to_csv(index=False), "no column item"),
    "column twice": (
        pd.concat([FRAME["item"], FRAME], axis=1).to_csv(index=False),
        "line 1: the header has item 2 times",
    ),
    "column spaced": (header("sentence", " sentence "), ""),
    "column with zero width": (header("sentence", "sent\u200bence"), ""),
    "column without a name": (FRAME.to_csv(index=True), ""),
    "two without names": (
        ",".join(["", "", *COLUMNS]) + "\n" + "".join(f"1,2,{r}" for r in LINES[1:]),
        "",
    ),
    "no subject's name": (cell("subject", ""), "line 4: subject is empty"),
    "subject missing": (cell("subject", "NA"), "line 4: subject is 'NA', which stands for"),
    "subject of spaces": (cell("subject", "\u200b "), "line 4: subject is empty"),
    "invisible in a subject": (cell("subject", "p1\u200b"), ""),
    "item missing": (cell("item", ""), "line 4: item is empty"),
    "sentence missing": (cell("sentence", "NA"), "line 4: sentence is 'NA'"),
    "position missing": (cell("position", ""), "line 4: position is '', not a number"),
    "position halved": (cell("position", "2.5"), "line 4: position is '2.5', not a whole number"),
    "position of text": (cell("position", "third"), "line 4: position is 'third', not a number"),
    "position beyond": (cell("position", "1e300"), "line 4: position is '1e300', too large"),
    "position of 2**31": (cell("position", str(2**31)), "line 4: position .* too large"),
    "position below 0": (cell("position", "-1"), "line 4: position is '-1', less than 0"),
    "position left out": (lines((4, None), (17, None), (30, None)), "has no word before 4"),
    "position again": (cell("position", "2"), "word 2 of sentence 1 of harbour is 'turned,'"),
    "sentence beyond": (
        FRAME.assign(sentence=FRAME.sentence.map({1: "1e300", 2: "2e300"})).to_csv(index=False),
        "",
    ),
    "word missing": (cell("word", ""), "line 4: word is ''; every row needs its word"),
    "word invisible": (cell("word", "\u200b"), "line 4: word is ''; every row needs its word"),
    "invisible in a word": (cell("word", "turn\u200bed,"), ""),
    "soft hyphen": (cell("word", "tur\u00adned,"), ""),
    "two words": (cell("word", "turned, or"), "line 4: word is 'turned, or'; a word has no space"),
    "no-break space": (cell("word", "tur\u00a0ned,"), "a word has no space inside"),
    "control character": (cell("word", "tur\x07ned,"), "a word has no space inside"),
    "another word": (
        cell("word", "fell,", 17),
        "line 17: word 3 of sentence 1 of harbour is 'fell,'",
    ),
    "time of text": (cell("rt", "3s"), "line 4: rt is '3s', not a number"),
    "time infinite": (cell("rt", "inf"), "line 4: rt is 'inf', not a number"),
    "time beyond": (cell("rt", "1e999"), "line 4: rt is '1e999', not a number"),
    "time below 0": (cell("rt", "-5"), "line 4: rt is '-5', less than 0"),
    "time missing": (cell("rt", ""), "dropped"),
    "time not a number": (cell("rt", "NaN"), "dropped"),
    "a row twice": (lines((4, LINES[3] * 2)), "line 5: subject p1 has a response .* already"),
    "a row lost": (lines((17, None)), "dropped"),
    "rows turned": (LINES[0] + "".join(LINES[:0:-1]), "turned"),
    "tabs between": (FRAME.to_csv(index=False, sep="\t"), ""),
    "tabs and quotes": (FRAME.to_csv(index=False, sep="\t", quoting=1), ""),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_one_line_or_does_no_harm(tmp_path, name, capsys):
    data, message = DAMAGES[name]
    path = tmp_path / "mine.dat"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    if message in ("", "dropped", "turned"):
        known, times = parsed(path, columns={"SPR": "rt"})
        said = capsys.readouterr().err
        if message == "dropped":
            assert known.word.tolist() == [word for *_, word in WORDS]
            assert len(times) < 39 and (len(times) == 38 or "dropped, without a value" in said)
        elif message == "turned":
            assert "were out of reading order" in said and len(times) == 39
            assert times.groupby("subject").time_ms.sum().tolist() == [3380, 4680, 5980]
        else:
            right(known, times)
        return
    with pytest.raises(InputError, match=message) as found:
        parsed(path, columns={"SPR": "rt"})
    assert str(path) in str(found.value)
    assert "\n" not in str(found.value) and len(str(found.value)) < 300 + len(str(path))


def test_there_are_enough_damages():
    assert len(DAMAGES) >= 70


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": ",,"}, "options → separator: ',,' is not one character"),
        ({"separator": 5}, "options → separator: 5 is not one character"),
        ({"decimal": ""}, "options → decimal: '' is not one character"),
        ({"encoding": "utf-9"}, "no encoding is called 'utf-9'"),
        ({"columns": {"SPR": 3}}, "options → columns → SPR: 3 is no column's name"),
        ({"columns": {"SPR": "rt", "partition": "x"}}, "the project uses this name; take another"),
        ({"columns": {"SPR": "rt", "word": None}}, "options → columns → word: a column is needed"),
        ({"unit": "min", "columns": {"SPR": "rt"}}, "options → unit: 'min' is not possible here"),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path, options, message):
    path = tmp_path / "mine.csv"
    path.write_text(TEXT)
    with pytest.raises(InputError, match=message) as found:
        parsed(path, **options)
    assert "\n" not in str(found.value)


def test_files_that_are_none(tmp_path):
    for path, message in ((tmp_path / "no.csv", "cannot be read"), (tmp_path, "is a folder")):
        with pytest.raises(InputError, match=message):
            anything.read(path, anything.Style())
    (tmp_path / "empty.rds").touch()
    with pytest.raises(InputError, match="empty.rds is empty"):
        anything.read(tmp_path / "empty.rds", anything.Style())


@pytest.mark.parametrize("kind", ["csv", "gzip", "parquet", "workbook"])
def test_random_bytes_flipped_end_in_one_line_or_are_read(tmp_path, kind, capsys):
    whole = {"csv": TEXT.encode(), "gzip": ZIPPED, "parquet": parquet(), "workbook": workbook()}
    draw, path = np.random.default_rng(7), tmp_path / "mine.dat"
    for _ in range(50):
        data = bytearray(whole[kind])
        for place in draw.integers(0, len(data), 3):
            data[place] = int(draw.integers(0, 256))
        path.write_bytes(bytes(data))
        try:
            known, times = parsed(path, columns={"SPR": "rt"})
        except InputError as error:
            assert "\n" not in str(error)
        else:  # a name or a time of another value is no damage that shows
            assert 0 < len(times) <= 39 and len(known) <= 39
