"""The strict reader: every way a table can be wrong ends in a message with file, line and value."""

import gzip

import pandas as pd
import pytest

from readingtimes.contracts import check_responses, check_words, padded, word_table
from readingtimes.errors import InputError
from readingtimes.sentences import aligned, ends
from readingtimes.strict_tables import only, read

GOOD = "subj\tword\tRT\n1\tThe\t300\n1\tcat\t250.5\n2\tThe\t410\n"


def table(tmp_path, text, columns=("subj", "word", "RT"), name="times.txt", **style):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, columns, **style)


def test_reads_columns_by_name_with_lines(tmp_path):
    found = table(tmp_path, GOOD, ["RT", "subj"])
    assert found.numbers("RT").to_dict() == {2: 300.0, 3: 250.5, 4: 410.0}
    assert "word" not in found


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n"),
        gzip.compress(GOOD.encode(), mtime=0),
        GOOD.rstrip("\n"),
        GOOD + "\n\n",
        GOOD.replace("subj", " subj ").replace("300", " 300"),
    ],
    ids=["byte order mark", "CRLF", "gzip", "no last newline", "empty lines", "spaces"],
)
def test_takes_harmless_variants(tmp_path, text):
    assert table(tmp_path, text).numbers("RT").tolist() == [300.0, 250.5, 410.0]


def test_reports_a_missing_end_of_line(tmp_path, capsys):
    table(tmp_path, GOOD.rstrip("\n"))
    assert "times.txt: line 4 has no end of line" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "style", "message"),
    [
        ("", {}, "is empty"),
        ("subj\tword\tRT\n", {}, "a header but no rows"),
        (GOOD.replace("RT", "Rt"), {}, r"no column RT; did you mean Rt\? It has: subj, word, Rt"),
        (GOOD.replace("word", "RT"), {}, "line 1: the header has RT 2 times"),
        (GOOD.replace("\t", ","), {}, "line 1: columns are separated by comma, expected tab"),
        (GOOD.replace("\t", ";"), {"separator": ","}, "separated by semicolon, expected comma"),
        (GOOD[:-9], {}, "line 4: 1 fields, the header has 3; the file looks cut off"),
        (GOOD.replace("cat", "cat\tsat"), {}, "line 3: 4 fields, the header has 3; correct"),
        (GOOD.encode("utf-16"), {}, "UTF-16"),
        (GOOD.replace("The", "Thé").encode("latin-1"), {}, "line 2: byte 0xe9 is not utf-8"),
        (GOOD.replace("cat", "c\0t"), {}, "line 3: a zero byte"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-8], {}, "damaged"),
        (GOOD.replace("\t", ",").replace("cat", '"cat'), {"separator": ","}, "get the file again"),
    ],
)
def test_refuses(tmp_path, text, style, message):
    with pytest.raises(InputError, match=message) as error:
        table(tmp_path, text, **style)
    assert "times.txt" in str(error.value)


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ("fast", {}, "line 3: RT is 'fast', not a number"),
        ("", {}, "line 3: RT is '', not a number"),
        ("NaN", {}, "not a number"),
        ("inf", {}, "not a number"),
        ("-5", {}, "line 3: RT is '-5', less than 0"),
        ("2,5", {}, "not a number"),
        ("2.5", {"integer": True}, "not a whole number"),
        ("0", {"minimum": 1}, "less than 1"),
    ],
)
def test_refuses_numbers(tmp_path, value, options, message):
    found = table(tmp_path, GOOD.replace("250.5", value))
    with pytest.raises(InputError, match=message):
        found.numbers("RT", **options)


def test_missing_spellings_become_empty(tmp_path):
    found = table(tmp_path, GOOD.replace("250.5", "."))
    assert found.numbers("RT", missing=["."]).isna().tolist() == [False, True, False]


def test_repeated_rows_fail_or_are_dropped_and_reported(tmp_path, capsys):
    found = table(tmp_path, GOOD + "1\tcat\t9\n")
    with pytest.raises(InputError, match="line 5: subj 1, word cat repeats an earlier row"):
        found.once(["subj", "word"])
    assert found.once(["subj", "word"], drop=True).numbers("RT").iloc[-1] == 410
    assert "1 rows dropped" in capsys.readouterr().err


def test_finds_the_separator_and_reads_quotes(tmp_path):
    found = table(tmp_path, 'word;RT\n"a;b";1\n"say ""x""";2\n', ["word", "RT"], separator=None)
    assert found["word"].tolist() == ["a;b", 'say "x"']
    assert table(tmp_path, 'word\tRT\n"a\t1\n', ["word", "RT"])["word"].tolist() == ['"a']


def test_reads_parquet(tmp_path):
    pd.DataFrame({"word": ["a", "b"], "RT": [1.5, 2.0]}).to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", ["RT"]).numbers("RT").tolist() == [1.5, 2.0]
    with pytest.raises(InputError, match="no column time; It has: word, RT"):
        read(tmp_path / "t.parquet", ["time"])


def test_an_absent_file_and_a_wrong_number_of_files(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "no.txt", ["a"])
    with pytest.raises(InputError, match="one file is expected, the config names a, b"):
        only({"a": "x", "b": "y"}, "words")


def test_sentences_end_where_they_should():
    text = (
        "'Why not?' she asked. 'Go!' Abby cried. He saw Mr. Smith and Susan B. Anthony (again.) "
        "'Yes.' Is it? No"
    )
    words = text.split()
    found = [word for word, end in zip(words, ends(words), strict=True) if end]
    assert found == ["asked.", "cried.", "(again.)", "'Yes.'", "it?", "No"]
    assert ends([]) == []


def test_given_sentences_are_aligned():
    assert aligned(["N.Y.", "is", "big."], ["N. Y. is", "big."]) == [False, True, True]
    with pytest.raises(ValueError, match="word 2 is 'was'"):
        aligned(["It", "was"], ["It is"])
    with pytest.raises(ValueError, match="ends inside word 1"):
        aligned(["It's"], ["It", "'s"])
    with pytest.raises(ValueError, match="go on with 'late'"):
        aligned(["It"], ["It late"])


def test_subjects_are_padded_so_that_text_order_is_natural():
    assert padded(pd.Series(["10", "9", "1"])).tolist() == ["10", "09", "01"]
    assert padded(pd.Series(["s2", "s11"])).tolist() == ["s02", "s11"]
    assert padded(pd.Series(["A1B", "Z"])).tolist() == ["A1B", "Z"]
    assert padded(pd.Series(["1", "01"])).tolist() == ["1", "01"]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("word", "two words", "has a space inside"),
        ("word", "", "is empty"),
        ("word_id", 5, "not the number of its row"),
        ("position", 3, "not the next position"),
        ("sentence", 2, "is in two places|not the next position"),
        ("item", "b", "another item"),
    ],
)
def test_words_out_of_contract_are_refused(column, value, message):
    frame = word_table(["a", "a", "a", "a"], [1, 1, 2, 2], ["It", "is.", "Is", "it?"])
    frame.loc[1, column] = value
    with pytest.raises(InputError, match=message):
        check_words(frame, "parser mine")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("time_ms", -1.0, "is negative"),
        ("time_ms", float("nan"), "not a finite time"),
        ("word_id", 7, "to an unknown word"),
        ("word_id", 0, "repeats an earlier one"),
    ],
)
def test_responses_out_of_contract_are_refused(column, value, message):
    words = word_table(["a", "a"], [1, 1], ["It", "is."])
    frame = pd.DataFrame({"subject": ["1", "1"], "word_id": [0, 1], "time_ms": [200.0, 300.0]})
    assert check_responses(frame, words, "mine").word_id.dtype == "int32"
    frame.loc[1, column] = value
    with pytest.raises(InputError, match=message):
        check_responses(frame, words, "mine")
