"""Measures that follow from others: by each parser that has those, from an own table, by load."""

import operator

import numpy as np
import pandas as pd
import pytest

import readingtimes
from readingtimes import checks, measures
from readingtimes.errors import InputError
from readingtimes.parsers import fixations, potec, table, ucl_spr

KEYS = ["subject", "word_id"]


@pytest.fixture
def own(tmp_path):
    """Files, words and options of a table with total and first-pass times."""
    path = tmp_path / "times.csv"
    rows = ["reader,item,position,word,total,first,again"]
    rows += ["a,1,1,the,300,200,7", "a,1,2,cat,250,0,8", "b,1,1,the,0,0,9", "b,1,2,cat,,180,9"]
    path.write_text("\n".join(rows))
    columns = {"subject": "reader", "TFT": "total", "FP": "first", "sentence": "item"}
    words = table.words({"t": path}, columns=columns, measures=("TFT", "FP", "RRT"))
    return {"t": path}, words, {"columns": columns}


def test_re_reading_of_an_own_table_is_total_less_first_pass(own):
    files, words, options = own
    read = measures.read(table, files, words, "RRT", options)
    assert dict(zip(zip(read.subject, read.word_id), read.time_ms)) == {
        ("a", 0): 100, ("a", 1): 250, ("b", 0): 0,
    }  # fmt: skip


def test_a_column_that_is_mapped_to_it_is_read_instead(own):
    files, words, options = own
    columns = options["columns"] | {"RRT": "again"}
    assert list(measures.read(table, files, words, "RRT", {"columns": columns}).time_ms) == [
        7,
        8,
        9,
        9,
    ]


def test_re_reading_of_fixations_is_their_time_after_the_first_pass(tmp_path):
    """Word 0 is returned to, 1 is skipped and read later, 2 is refixated in first pass alone."""
    texts, path = tmp_path / "words.csv", tmp_path / "fixations.csv"
    texts.write_text("item,sentence,position,word\n1,1,1,a\n1,1,2,b\n1,1,3,c\n1,1,4,d\n")
    track = [(0, 100), (2, 50), (2, 60), (1, 70), (0, 30), (0, 5), (3, 80)]
    rows = [f"r,1,{place + 1},{ms}" for place, ms in track]
    path.write_text("\n".join(["subject,item,position,duration", *rows]))
    words = fixations.words({"areas": texts})
    read = measures.read(
        fixations, {"f": path}, words, "RRT", {"columns": {"position": "position"}}
    )
    assert read.groupby("word_id").time_ms.sum().to_dict() == {0: 35, 1: 70, 2: 0, 3: 0}


def test_it_is_what_a_corpus_has(shared_data):
    words = potec.words({"words": shared_data / "potec" / "potec_words.tsv.gz"})
    files = {"times": shared_data / "potec" / "potec_reading_measures.tsv.gz"}
    read, total, first = (
        measures.read(potec, files, words, name, {}) for name in ("RRT", "TFT", "FP")
    )
    assert list(read) == list(total) and read[KEYS].equals(total[KEYS])
    np.testing.assert_array_equal(read.time_ms, total.time_ms - first.time_ms)
    assert (read.time_ms > 0).mean() > 0.1 and (read.time_ms >= 0).all()


def test_load_reads_it_with_the_filters_of_total_times(shared_data, tmp_path):
    asked = {"mirrors": [shared_data], "cache": tmp_path}
    _, responses = readingtimes.load("potec", ["RRT", "TFT"], **asked)
    assert len(responses["RRT"]) != len(responses["TFT"]) or responses["RRT"].time_ms.min() > 0
    assert (responses["RRT"].time_ms > 0).all()
    with pytest.raises(InputError, match="no measure called 'RRT'"):
        readingtimes.load("natural_stories", ["RRT"], **asked)


def test_a_parser_without_its_parts_says_what_it_has(tmp_path):
    with pytest.raises(InputError, match="ucl_spr has no such measure; .*It has: SPR"):
        measures.read(ucl_spr, {}, pd.DataFrame(), "RRT", {})


def test_a_measure_is_added_by_one_entry(own, monkeypatch):
    files, words, options = own
    half = measures.Measure("half", ("TFT",), of=("TFT",), combine=lambda total: total / 2)
    monkeypatch.setitem(measures.MEASURES, "HALF", half)
    assert list(measures.read(table, files, words, "HALF", options).time_ms) == [150, 125, 0]
    ratio = measures.Measure("ratio", of=("FP", "TFT"), combine=operator.truediv)
    monkeypatch.setitem(measures.MEASURES, "RATIO", ratio)
    assert measures.sources("RATIO", potec.MEASURES) == ("FP", "TFT")


def test_a_measure_that_exceeds_its_bound_is_found(own):
    files, words, options = own
    found = {name: measures.read(table, files, words, name, options) for name in ("RRT", "TFT")}
    assert checks.between(found) == []
    found["RRT"].time_ms += 300
    assert "RRT is longer than TFT in 3 of 3" in checks.between(found)[0].text


def test_no_measure_bounds_itself():
    for name in measures.MEASURES:
        above, new = set(), {name}
        while new:
            new = {n for short in new for n in measures.MEASURES[short].at_most} - above
            above |= new
        assert name not in above
