"""Conditions of filters: what pandas' query gives, and nothing that runs code."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from project import load
from readingtimes import filters
from recency.errors import REFUSALS

rng = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {
        "time_ms": rng.integers(0, 400, 200).astype("float64"),
        "position": rng.integers(1, 9, 200).astype("int32"),
        "word": pd.Series(rng.choice(["The", "tide", "turned,", "a"], 200), dtype="str"),
        "correct": pd.Series(rng.choice(["c", "e", "-"], 200), dtype="str"),
        "words_since_fixation": rng.integers(-3, 7, 200),
        "sentence_first": rng.random(200) < 0.2,
        "sentence_last": rng.random(200) < 0.2,
        "previous_fixated": pd.array(rng.choice([True, False, None], 200), dtype="boolean"),
        "rating": np.where(rng.random(200) < 0.2, np.nan, rng.random(200)),
        "reading time": rng.random(200),
    }
)


def pandas_says(text, frame=FRAME):
    found = frame.eval(text, engine="python", local_dict={}, global_dict={})
    return found.fillna(False).astype(bool).tolist()


def ours(text, frame=FRAME):
    return filters.evaluated(frame, "here", text).fillna(False).astype(bool).tolist()


SAME = [
    "100 < time_ms < 300",
    "not sentence_first and not sentence_last",
    "correct != 'e'",
    "'e' != correct",
    "correct == ['c', 'e']",
    "correct in ['c', \"e\"]",
    "correct not in ('c', '-')",
    "position in [1, 2, 3]",
    "time_ms > 100 & position > 2 | sentence_first",
    "~(time_ms > 100) and `reading time` >= 0.5",
    "previous_fixated",
    "not previous_fixated",
    "previous_fixated and time_ms > 100",
    "words_since_fixation <= 4",
    "words_since_fixation > -1",
    "words_since_fixation.abs() <= 2",
    "rating.notna() and rating ** 2 < 0.25",
    "rating.isna() or rating != rating",
    "time_ms / position > 2 * 30 - 1 and time_ms % 7 != 0 and time_ms // 3 > 5",
    "word.str.startswith('t') or word.str.endswith('d,') or word.str.contains('he')",
    "word.str.len() > 2 and word.str.lower() != 'the'",
    "correct.isin(['c', 'e']) and time_ms.between(100, 200)",
    "sentence_first == False",
    "1 <= position <= 4 != time_ms",
    "correct != 'a & b|@c'",
]


@pytest.mark.parametrize("text", SAME)
def test_it_is_what_pandas_query_gives(text):
    assert ours(text) == pandas_says(text)
    assert filters.problem(text, dict.fromkeys(FRAME, filters.ANY)) is None


numbers = st.sampled_from(["time_ms", "position", "words_since_fixation", "rating", "2", "0.5"])
sums = st.builds("({} {} {})".format, numbers, st.sampled_from(list("+-*/")), numbers) | numbers
signs = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
columns = st.sampled_from(["time_ms", "position", "words_since_fixation", "rating"])
plain = (
    st.builds("{} {} {}".format, columns, signs, sums)
    | st.builds("{} {} {} {} {}".format, sums, signs, columns, signs, sums)
    | st.builds("correct {} 'c'".format, st.sampled_from(["==", "!="]))
    | st.sampled_from(["sentence_first", "previous_fixated", "position not in [1, 4]"])
)
conditions = st.recursive(
    plain,
    lambda part: (
        st.builds("({} {} {})".format, part, st.sampled_from(["and", "or", "&"]), part)
        | st.builds("not {}".format, part.map("({})".format))
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(conditions)
def test_any_condition_is_what_pandas_query_gives(text):
    with np.errstate(all="ignore"):
        assert ours(text) == pandas_says(text)


def test_every_filter_of_the_config_is_read():
    for names in ((), ("config/demo.yaml",), ("config/open.yaml",)):
        for dataset in load(*names)["datasets"].values():
            for text in dataset.get("filters", {}).values():
                assert filters.read(text).columns, text


REFUSED = {
    "time_ms.rank.__func__.__globals__": "is no part of a filter",
    "time_ms.rank.__func__.__globals__['__builtins__']['exec']('1') > 0": "no part of a filter",
    "__import__('os').system('true') == 0": "no method 'system'",
    "open('/etc/passwd')": "nothing is run",
    "time_ms.to_csv('x') == 1": "no method 'to_csv'",
    "time_ms.apply('mean') > 0": "no method 'apply'",
    "time_ms.__class__ == 1": "is no part of a filter",
    "time_ms.isin.__self__ > 1": "is no part of a filter",
    "word.str.startswith(word.str.len.__class__)": "numbers and texts alone",
    "@np.all(time_ms)": "@ means a variable of a program",
    "(lambda: 1)() > time_ms": "no part of a filter",
    "[x for x in time_ms] == 1": "no part of a filter",
    "time_ms if True else position": "no part of a filter",
    "(y := time_ms) > 1": "no part of a filter",
    "f'{time_ms}' == 'a'": "no part of a filter",
    "time_ms[0] > 1": "no part of a filter",
    "time_ms = 3": "= compares nothing, write ==",
    "time_ms >": "cannot be evaluated",
    "(time_ms > 3": "cannot be evaluated",
    "time_ms > 'a'": None,  # of unknown kind: only a job knows
    "time_ms + 1": "is not true or false of each row",
    "True": "is not true or false of each row",
    "1 < 2": "is not true or false of each row",
    "not time_ms + 1": "is neither true nor false; compare it",
    "time_ms > 1 and 'a'": "is neither true nor false; compare it",
    "word * 3 == 'a'": "compares text with a number",
    "word == None": "for what is missing write .isna()",
    "word is 'a'": "write == or != to compare",
    "position in 3": "`in` wants a list",
    "position in []": "a list of values is wanted",
    "position in [word]": "numbers and texts alone",
    "position < [1, 2]": "a list has no order",
    "word.str.contains('^a|b')": "has signs of a pattern",
    "time_ms.between(1)": ".between() takes 2 value(s)",
    "word.str.startswith(pat='a')": ".str.startswith() takes 1 value(s), and no names of them",
    "time_ms > 9 ** 9 ** 9": None,
    "-" * 3000 + "time_ms > 1": "nested too deeply|cannot be evaluated",
    "(" * 400 + "time_ms" + ")" * 400 + " > 1": "nested too deeply|cannot be evaluated",
    "time_ms > 1 " + "and time_ms > 1 " * 400: "has 6,412 characters; 5,000 are the most",
    "time_ms > 1j": "no number, no text and no truth value",
    "word == b'a'": "no number, no text and no truth value",
    "time_ms > ...": "no number, no text and no truth value",
    "": "cannot be evaluated",
    "time_ms > 1; position > 2": "cannot be evaluated",
    "time_ms > 1 # comment": None,
    "a\0b > 1": "cannot be evaluated",
}


@pytest.mark.parametrize("text", REFUSED)
def test_whatever_else_is_refused(text):
    said = filters.problem(text, {})
    if REFUSED[text] is None:
        assert said is None or said.startswith("no column")
        return
    assert any(part in said for part in REFUSED[text].split("|")), said
    assert len(said) < 200 and "\n" not in said
    with pytest.raises(REFUSALS):
        filters.evaluated(FRAME, "here", text)


def test_nothing_of_a_condition_is_run(tmp_path):
    made = tmp_path / "made"
    for text in (
        f"time_ms.rank.__func__.__globals__['__builtins__']['open']('{made}', 'w') != 1",
        f"__import__('pathlib').Path('{made}').touch() == 1",
        f"time_ms.to_csv('{made}') == 1",
        f"@pd.io.common.os.system('touch {made}') == 0",
    ):
        with pytest.raises(REFUSALS):
            filters.evaluated(FRAME, "here", text)
    assert not made.exists()


KINDS = {"time_ms": filters.NUMBER, "correct": filters.TEXT, "first": filters.FLAG, "own": "any"}
WRONG = {
    "time_ms > '300'": "compares text with a number",
    "correct > 4": "compares text with a number",
    "correct in [1, 2]": "compares text with a number",
    "correct.isin([1])": "compares text with a number",
    "time_ms.str.len() > 2": ".str.len() is not of 'time_ms', a number",
    "correct + 1 > 2": "is text, and cannot be calculated with",
    "time_ms": "is not true or false of each row",
    "correct or first": "is neither true nor false",
    "tim_ms > 2": "no column 'tim_ms'; did you mean 'time_ms'?",
    "correct.str.startswth('a')": "no method 'str.startswth'; did you mean 'str.startswith'?",
}


@pytest.mark.parametrize("text", WRONG)
def test_kinds_of_columns_are_known(text):
    assert WRONG[text] in filters.problem(text, KINDS)


def test_lines_of_a_condition_are_one():
    assert ours("time_ms > 100\n  and position > 2") == ours("time_ms > 100 and position > 2")


def test_what_goes_by_kinds():
    for text in ("first", "first == 1", "own > 3 and own != 'x'", "correct.str.len() > time_ms"):
        assert filters.problem(text, KINDS) is None


def test_numbers_do_not_grow_without_end():
    with pytest.raises(REFUSALS, match="cannot be evaluated"):
        filters.evaluated(FRAME, "here", "time_ms > 9 ** 9 ** 9 ** 9")
