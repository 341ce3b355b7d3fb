"""Rows of your own tables: readers, words and regions that could be taken for others."""

import numpy as np
import pandas as pd
import pytest

from own_corpus import parsed, readings, right, save, words
from readingtimes.errors import InputError
from readingtimes.parsers import provo
from readingtimes.parsers import table as parser

SPR = {"SPR": "rt"}


def test_a_reader_in_two_spellings_is_refused_or_mapped(tmp_path):
    frame = readings().replace({"subject": {"p1": "1", "p2": "01", "p10": "3"}})
    path = save(frame.astype({"subject": str}), tmp_path / "mine.csv")
    with pytest.raises(InputError, match="line 15: subject is '01', before it was '1': one label"):
        parsed(path, columns=SPR)
    _, times = parsed(path, columns=SPR, subjects={"01": "2"})
    assert sorted(times.subject.unique()) == ["1", "2", "3"]
    with pytest.raises(InputError, match="options → subjects: the table has no '04'"):
        parsed(path, columns=SPR, subjects={"04": "2"})


def test_words_stored_as_bytes_are_their_text(tmp_path):
    frame = readings().assign(word=lambda d: d.word.str.encode("utf-8"))
    right(*parsed(save(frame, tmp_path / "mine.parquet"), columns=SPR))


def test_regions_are_not_those_of_another_sentence(tmp_path):
    """Sentences numbered from 0, and a label in every one: refused, with `unmatched: dropped` too."""
    stimuli = words().assign(region=lambda d: np.where(d.position < 2, "r1", "r2"))
    known = save(stimuli, tmp_path / "words.csv")
    regions = pd.DataFrame({"item": "harbour", "sentence": [1, 1, 2], "region": ["r1", "r2", "r1"]})
    regions = regions.assign(
        subject="p1", rt=[500, 700, 600], word=["The", "tide turned,", "nobody"]
    )
    regions.loc[1, "word"] = "tide turned, slowly."
    _, times = parsed(save(regions, tmp_path / "t.csv"), words_path=known, columns=SPR)
    assert times[["word_id", "span"]].to_numpy().tolist() == [[0, 1], [1, 3], [4, 1]]
    moved = regions.assign(sentence=regions.sentence - 1)
    for frame in (moved, moved.drop(columns="word")):
        with pytest.raises(InputError, match="line 2: item 'harbour', sentence '0', region 'r1'"):
            parsed(
                save(frame, tmp_path / "t.csv"), words_path=known, columns=SPR, unmatched="dropped"
            )
    other = regions.assign(word=["The", "tide turned, slowly.", "Someone"])
    with pytest.raises(InputError, match="line 4: word is 'Someone', the region has 'Nobody'"):
        parsed(save(other, tmp_path / "t.csv"), words_path=known, columns=SPR)


def test_provo_s_own_ids_are_those_of_their_words(tmp_path):
    """An id counts where its row has the word of its number."""
    norms = pd.DataFrame(
        {
            "Word_Unique_ID": ["QID1", "QID2", "QID3", "QID3"],
            "Text_ID": 1,
            "Text": "The old mill stood.",
            "Word_Number": [2, 3, 4, 4],
            "Word": ["old", "stood", "stood", "stood"],
        }
    )
    norms.to_csv(tmp_path / "norms.csv", index=False)
    found = provo.words({"norms": tmp_path / "norms.csv"})
    assert found.unique_id.isna().tolist() == [True, False, True, False]
    assert found.unique_id.dropna().tolist() == ["QID1", "QID3"]


def test_labels_of_several_columns_are_decoded(tmp_path):
    frame = readings().assign(tale="a%2Cb", rt=300)
    frame.to_csv(tmp_path / "mine.csv", index=False)
    files = {"table": tmp_path / "mine.csv"}
    columns = {"item": ["tale", "item"], "SPR": "rt"}
    known = parser.words(files, columns=columns, percent_encoded=True, measures=("SPR",))
    assert set(known["item"]) == {"a,b harbour", "a,b mill"}
