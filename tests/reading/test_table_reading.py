"""Tables without quotes, empty lines or faults are read by PyArrow, as if row by row."""

import random

import pandas as pd
import pytest

from recency.errors import InputError
from recency.reading import tables

FIELDS = ["", " ", "the", "don’t", " café ", "3.5", '"', 'a "quoted" one', "\u2028", "NA", "null"]
FAULTS = ["\n", "\t\t\n", " \n", "a\tb\tc\n", "one\ttwo\n", "1\t2\t3\t4\n", "\r", "x\ty\rz\n"]


def made(seed: int) -> str:
    """Make a table of three columns, in some of which a line is wrong or another than the rest."""
    choose = random.Random(seed)
    end = choose.choice(["\n", "\n", "\r\n", "\r"])
    rows = [[choose.choice(FIELDS) for _ in "abc"] for _ in range(choose.randrange(1, 12))]
    lines = ["\t".join(row) + end for row in [["a", "b", "c"], *rows]]
    if choose.random() < 0.5:
        lines.insert(choose.randrange(1, len(lines) + 1), choose.choice(FAULTS))
    text = "".join(lines)
    return text.rstrip("\r\n") if choose.random() < 0.3 else text


def outcome(path, capsys, **settings):
    """Return the table read, or what is wrong with it, and what was reported."""
    try:
        found = tables.read(path, ["c", "a"], **settings).frame
    except InputError as error:
        found = str(error)
    return found, capsys.readouterr().err


def test_what_is_read_at_once_is_what_is_read_row_by_row(tmp_path, capsys, monkeypatch):
    at_once, fast, path = tables._all_even, [], tmp_path / "table.tsv"

    def noted(*arguments):
        found = at_once(*arguments)
        fast.append(found is not None)
        return found

    for seed in range(400):
        text = made(seed)
        separator, quoted = ((",", True), ("\t", False))[seed % 2]
        path.write_text(text.replace("\t", separator), newline="")
        monkeypatch.setattr(tables, "_all_even", noted)
        found, said = outcome(path, capsys, separator=separator, quoted=quoted)
        monkeypatch.setattr(tables, "_all_even", lambda *arguments: None)
        expected, reported = outcome(path, capsys, separator=separator, quoted=quoted)
        assert said == reported, text
        if isinstance(expected, str):
            assert found == expected, text
        else:
            pd.testing.assert_frame_equal(found, expected, check_index_type=False)
    assert 50 < sum(fast) < len(fast) - 50  # either way is taken


@pytest.mark.parametrize("line", FAULTS)
def test_a_line_that_is_looked_at_is_not_read_at_once(line):
    places = {"a": 0, "b": 1, "c": 2}
    whole = "a\tb\tc\n1\t2\t3\n"
    assert tables._all_even(whole, "\t", ["a", "b", "c"], places) is not None
    assert tables._all_even(whole + line, "\t", ["a", "b", "c"], places) is None
