"""Tables without empty lines and faults are read by PyArrow, as if row by row."""

import random
from functools import partial

import pandas as pd
import pytest

from readingtimes import at_once, strict_tables
from readingtimes.errors import InputError
from readingtimes.formats import anything, streamed

FIELDS = ["", " ", "the", "don’t", " café ", "3.5", "\u2028", "NA", "null"]
QUOTED = ['"the"', '""', '" a"', '"a, b"', '"a ""b"" c"', '""""']
MISQUOTED = ['x"', '"a" b', 'a "b"', '"', '"two\nlines"', '"a"b"', '"a\\"b"']
FAULTS = ["\n", "\t\t\n", " \n", "a\tb\tc\n", "one\ttwo\n", "1\t2\t3\t4\n", "\r", "x\ty\rz\n"]


def made(seed: int) -> str:
    """Make a table of three columns, in some of which a line is wrong or another than the rest."""
    choose = random.Random(seed)
    end = choose.choice(["\n", "\n", "\n", "\r\n", "\r"])
    fields = FIELDS + choose.choice([[], QUOTED])
    rows = [[choose.choice(fields) for _ in "abc"] for _ in range(choose.randrange(1, 12))]
    if choose.random() < 0.2:
        rows[-1][choose.randrange(3)] = choose.choice(MISQUOTED)
    header = choose.choice([["a", "b", "c"], ['"a"', '"b"', '"c"']])
    lines = ["\t".join(row) + end for row in [header, *rows]]
    if choose.random() < 0.3:
        lines.insert(choose.randrange(1, len(lines) + 1), choose.choice(FAULTS))
    text = "".join(lines)
    return text.rstrip("\r\n") if choose.random() < 0.3 else text


def outcome(path, capsys, **settings):
    """Return the table read, or what is wrong with it, and what was reported."""
    try:
        found = strict_tables.read(path, ["c", "a"], **settings).frame
    except InputError as error:
        found = str(error)
    return found, capsys.readouterr().err


@pytest.mark.merge
def test_what_is_read_at_once_is_what_is_read_row_by_row(tmp_path, capsys, monkeypatch):
    read, fast, path = at_once.read, [], tmp_path / "table.tsv"

    def noted(*arguments):
        found = read(*arguments)
        fast.append(found is not None)
        return found

    for seed in range(600):
        text = made(seed)
        separator, quoted = ((",", True), ("\t", False))[seed % 2]
        path.write_text(text.replace("\t", separator), newline="")
        monkeypatch.setattr(at_once, "read", noted)
        found, said = outcome(path, capsys, separator=separator, quoted=quoted)
        monkeypatch.setattr(at_once, "read", lambda *arguments: None)
        expected, reported = outcome(path, capsys, separator=separator, quoted=quoted)
        assert said == reported, text
        if isinstance(expected, str):
            assert found == expected, text
        else:
            pd.testing.assert_frame_equal(found, expected, check_index_type=False)
    assert 100 < sum(fast) < len(fast) - 100  # either way is taken


@pytest.mark.parametrize("line", FAULTS)
def test_a_line_that_is_looked_at_is_not_read_at_once(line):
    places = {"a": 0, "b": 1, "c": 2}
    whole = "a\tb\tc\n1\t2\t3\n"
    assert at_once.read(whole, "\t", False, ["a", "b", "c"], places) is not None
    assert at_once.read(whole + line, "\t", False, ["a", "b", "c"], places) is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (['"""two"', "x"], ['"two', "x"]),  # as R and pandas write what holds quotes
        (['"say ""x"" now"', '""""'], ['say "x" now', '"']),
        (['"light"', '"dark'], ['"light"', '"dark']),  # as they are
        (['"""two"', '"dark'], ['"""two"', '"dark']),  # not all: as they are
        (['""', "x"], ['""', "x"]),
    ],
)
def test_fields_of_a_tab_separated_table_are_in_quotes_all_or_none(tmp_path, fields, expected):
    path = tmp_path / "t.tsv"
    path.write_text("word\tn\n" + "".join(f"{field}\t1\n" for field in fields))
    assert list(strict_tables.read(path, ["word"])["word"]) == expected


QUOTED_LATE = "word\tn\n" + "plain\t1\n" * 20_000 + '"""two"\t1\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"word"\t"n"\n"two"\t1\n"a ""b"""\t2\n', ["two", 'a "b"']),  # a header in quotes: all is
        ('word\tn\n"two"\t1\n', ['"two"']),
        (QUOTED_LATE, ["plain"] * 20_000 + ['"two']),
        (QUOTED_LATE + '"Yes\t1\n', ["plain"] * 20_000 + ['"""two"', '"Yes']),
    ],
)
def test_small_and_large_tables_have_their_quotes_read_alike(tmp_path, monkeypatch, text, expected):
    path = tmp_path / "t.tsv"
    path.write_text(text)
    assert list(strict_tables.read(path, ["word"])["word"]) == expected
    assert list(anything.read(path, anything.Style(), lambda header: ["word"])["word"]) == expected
    monkeypatch.setattr(streamed, "_BLOCK", 1 << 16)
    large = streamed.read(
        path, partial(streamed.opened, path), None, "utf-8", lambda h: ["word"], {}
    )
    assert list(large["word"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a\tb\n"""Yes"" he"\tx\n', [["a", "b"], ['"Yes" he', "x"]]),
        ('a\tb\n"Yes" he\tx\n\n"No\ty', [["a", "b"], ['"Yes" he', "x"], [""], ['"No', "y"]]),
    ],
)
def test_rows_of_a_tab_separated_text(tmp_path, text, expected):
    rows = list(strict_tables.tab_separated(tmp_path / "t", text))
    assert [fields for _, fields in rows] == expected
    assert [line for line, _ in rows] == list(range(1, len(expected) + 1))


def test_a_quote_without_an_end_is_named(tmp_path):
    with pytest.raises(InputError, match="t, line 3"):
        list(strict_tables.tab_separated(tmp_path / "t", '"a"\t"b"\n"x"\t1\n"y\t2\n'))
