"""Tables of one's own as they are found: every shape gives the same words and times."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from own_corpus import SUBJECTS, TEXTS, WORDS, ms, parsed, readings, right, save, words
from readingtimes.contracts import check_responses, check_words
from readingtimes.parsers import table as parser
from recency.errors import REFUSALS
from recency.reading import observations

SPR = {"SPR": "rt"}


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "xlsx", "parquet", "feather"])
def test_every_format_is_read(tmp_path, ending):
    path = save(readings(), tmp_path / f"mine.{ending}")
    right(*parsed(path, columns=SPR))


@pytest.mark.merge
@pytest.mark.skipif(not shutil.which("Rscript"), reason="no R here")
@pytest.mark.parametrize("ending", ["rds", "rda"])
def test_r_s_data_with_factors_are_read(tmp_path, ending):
    save(readings(), tmp_path / "mine.csv")
    write = "saveRDS(d, 'mine.rds')" if ending == "rds" else "e <- 1; save(e, d, file = 'mine.rda')"
    code = f"d <- read.csv('mine.csv', stringsAsFactors = TRUE); {write}"
    subprocess.run(["Rscript", "--vanilla", "-e", code], cwd=tmp_path, check=True)
    right(*parsed(tmp_path / f"mine.{ending}", columns=SPR))
    renamed = (tmp_path / f"mine.{ending}").rename(tmp_path / "mine.dat")
    right(*parsed(renamed, columns=SPR))


@pytest.mark.merge
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found_where_words_have_commas(tmp_path, separator):
    readings().to_csv(tmp_path / "mine.txt", sep=separator, index=False)
    right(*parsed(tmp_path / "mine.txt", columns=SPR))


@pytest.mark.merge
def test_decimal_commas(tmp_path):
    readings().assign(rt=lambda d: d.rt + 0.5).to_csv(
        tmp_path / "mine.csv", sep=";", decimal=",", index=False
    )
    with pytest.raises(REFUSALS, match="line 2: rt is '200,5', not a number"):
        parsed(tmp_path / "mine.csv", columns=SPR)
    _, times = parsed(tmp_path / "mine.csv", columns=SPR, decimal=",")
    assert times.time_ms.tolist()[:2] == [200.5, 210.5]


@pytest.mark.merge
@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("unit", ["position", "place"])
def test_positions_count_from_0_or_1_in_sentence_or_item(tmp_path, base, unit):
    frame = readings()
    frame["at"] = frame[unit] - 1 + base
    path = save(frame.drop(columns=["position", "place"]), tmp_path / "mine.csv")
    right(*parsed(path, columns=SPR | {"position": "at"}))


@pytest.mark.merge
def test_rows_order_words_where_no_position_does(tmp_path):
    frame = readings().drop(columns=["position", "place"])
    path = save(frame, tmp_path / "mine.csv")
    right(*parsed(path, columns=SPR | {"position": None}))
    with pytest.raises(REFUSALS, match="no column position; or map `position: null`"):
        parsed(path, columns=SPR)
    save(frame[frame.index != 3], path)  # the words themselves say whose times these are
    _, times = parsed(path, columns=SPR | {"position": None})
    expected = [ms(s, n) for s in SUBJECTS for n in range(13) if (s, n) != ("p1", 3)]
    assert sorted(times.time_ms) == sorted(expected)
    assert (times.time_ms % 100 // 10).tolist() == (times.word_id % 10).tolist()
    files = {
        "words_path": save(words(), tmp_path / "words.csv"),
        "columns": SPR | {"position": None},
    }
    save(frame[frame.index != 3].drop(columns="word"), path)
    files["columns"] = {"words": {"position": "position"}, "responses": {"position": None}} | SPR
    with pytest.raises(REFUSALS, match="p1 has 3 rows of a text of 4 words, and no position"):
        parsed(path, **files)
    halves = pd.concat([frame[frame.index % 2 == 0], frame[frame.index % 2 == 1]])
    with pytest.raises(REFUSALS, match="begins again: without positions"):
        parsed(save(halves, path), columns=SPR | {"position": None})


def test_sentences_are_found_by_punctuation_or_are_the_items(tmp_path):
    frame = readings().drop(columns="sentence").assign(position=lambda d: d.place)
    path = save(frame, tmp_path / "mine.csv")
    with pytest.raises(REFUSALS, match="no column sentence; or say `sentences: punctuation`"):
        parsed(path, columns=SPR)
    right(*parsed(path, columns=SPR, sentences="punctuation"))  # `Mr.` ends none
    known, _ = parsed(path, columns=SPR, sentences="item")
    assert known.sentence.tolist() == [1] * 6 + [2] * 7
    with pytest.raises(REFUSALS, match="sentences: 'stops' is not possible"):
        parsed(path, columns=SPR, sentences="stops")


@pytest.mark.merge
@pytest.mark.parametrize(
    "label",
    [
        lambda item, n: n,  # anew in each item
        lambda item, n: f"s{n * 9}",  # s9, s18: by number, not as text
        lambda item, n: ["first", "then"][n - 1],  # by the order of rows
        lambda item, n: f"{item}: {n}",
    ],
)
def test_sentences_have_any_label(tmp_path, label):
    frame = readings()
    frame["sentence"] = [label(i, n) for i, n in zip(frame["item"], frame.sentence)]
    known, times = parsed(save(frame, tmp_path / "mine.csv"), columns=SPR)
    right(known, times)
    assert known.sentence.unique().tolist() == [1, 2, 3, 4]
    assert known.sentence_label.tolist() == frame.sentence.astype(str).tolist()[: len(WORDS)]


@pytest.mark.merge
def test_sentences_numbered_through_the_file_keep_their_numbers(tmp_path):
    frame = readings()
    frame["sentence"] += np.where(frame["item"] == "harbour", 40, 10)
    known, times = parsed(save(frame, tmp_path / "mine.csv"), columns=SPR)
    assert known.sentence.unique().tolist() == [11, 12, 41, 42]  # and these order the texts
    assert known["item"].unique().tolist() == ["mill", "harbour"]
    assert "sentence_label" not in known and len(times) == 39


@pytest.mark.merge
def test_several_columns_are_one_label(tmp_path):
    frame = readings().assign(list="A", number=lambda d: d["item"].map({"harbour": 1, "mill": 2}))
    more = frame.assign(list="B", subject="q", word=frame.word.str.upper())
    both = pd.concat([frame, more[more.index < len(WORDS)]]).drop(columns="item")
    path = save(both, tmp_path / "mine.csv")
    known, times = parsed(path, columns=SPR | {"item": ["list", "number"]})
    assert known["item"].unique().tolist() == ["A 1", "A 2", "B 1", "B 2"]
    assert times.groupby("subject").size().tolist() == [13, 13, 13, 13]
    with pytest.raises(REFUSALS, match="before it was 'The'"):
        parsed(path, columns=SPR | {"item": "number"})


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_in_any_order_give_the_same(tmp_path, seed, capsys):
    frame = readings()
    frame["rt"] *= (frame.place + frame.subject.str.len()) % 3 > 0  # some words are skipped
    straight = save(frame, tmp_path / "mine.csv")
    options = {"columns": SPR, "eye_tracking": True}
    known, times = parsed(straight, **options)
    assert "out of reading order" not in capsys.readouterr().err
    mixed = frame.sample(frac=1, random_state=seed)
    other, found = parsed(save(mixed, tmp_path / "mixed.csv"), **options)
    assert "rows were out of reading order, and are sorted" in capsys.readouterr().err
    # Texts without numbers come in the order of their first rows; each word is there once.
    assert sorted(known.word) == sorted(other.word) and len(set(known.word)) == 13
    names = ["subject", "word", "time_ms", "previous_fixated"]
    one, two = (
        t.merge(k, on="word_id")[names].sort_values(names[:2], ignore_index=True)
        for t, k in ((times, known), (found, other))
    )
    pd.testing.assert_frame_equal(one, two)
    named = save(mixed.assign(sentence=mixed.sentence.map({1: "a", 2: "b"})), tmp_path / "n.csv")
    with pytest.raises(REFUSALS, match="begins again: rows are out of order"):
        parsed(named, **options)


@pytest.mark.merge
def test_a_word_without_a_row_was_not_fixated(tmp_path):
    frame = readings()
    frame["rt"] *= frame.place % 3 != 2
    whole = parsed(save(frame, tmp_path / "whole.csv"), columns=SPR, eye_tracking=True)[1]
    word_file = save(words(), tmp_path / "words.csv")
    path = save(frame[frame.rt > 0].drop(columns="word"), tmp_path / "fixated.csv")
    with pytest.raises(REFUSALS, match="nothing verifies the alignment.*map `word`"):
        parsed(path, words_path=word_file, columns=SPR)
    join = {"position": "from 1"}
    found = parsed(path, words_path=word_file, columns=SPR, eye_tracking=True, join=join)[1]
    expected = whole[whole.time_ms > 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected)
    assert set(found.words_since_fixation) == {1, 2}


def test_missing_values_are_dropped_and_counted(tmp_path, capsys):
    frame = readings()
    frame["rt"] = frame.rt.astype("object")
    frame.loc[[1, 5, 20], "rt"] = ["NA", ".", "None"]
    frame.loc[8, "rt"] = None
    path = save(frame, tmp_path / "mine.csv")
    known, times = parsed(path, columns=SPR)
    assert len(times) == 35 and len(known) == 13
    assert "4 of 39 responses of SPR dropped, without a value" in capsys.readouterr().err
    assert "None" not in known.word.tolist()
    zeros = parsed(path, columns=SPR, skipped=True)[1]
    assert len(zeros) == 39 and (zeros.time_ms == 0).sum() == 4
    save(frame.replace({"rt": {"NA": "-999"}}), path)
    with pytest.raises(REFUSALS, match="line 3: rt is '-999', less than 0"):
        parsed(path, columns=SPR)
    assert len(parsed(path, columns=SPR, missing=["-999", ".", "None"])[1]) == 35
    with pytest.raises(REFUSALS, match="rt has no value at all"):
        parsed(save(frame.assign(rt="NA"), path), columns=SPR)


@pytest.mark.merge
def test_none_and_na_are_words(tmp_path):
    frame = readings().replace({"word": {"Nobody": "None", "He": "NA"}})
    known, _ = parsed(save(frame, tmp_path / "mine.csv"), columns=SPR)
    assert {"None", "NA"} < set(known.word)


@pytest.mark.merge
def test_two_files_may_call_things_otherwise(tmp_path):
    stimuli = words().rename(columns={"item": "story", "word": "token", "place": "zone"})
    known = save(stimuli[["story", "sentence", "zone", "token"]], tmp_path / "words.csv")
    times = readings().rename(columns={"item": "text", "place": "n"})
    path = save(times[["text", "n", "subject", "rt"]], tmp_path / "times.csv")
    columns = {
        "words": {"item": "story", "position": "zone", "word": "token"},
        "responses": {"item": "text", "position": "n", "SPR": "rt"},
    }
    right(*parsed(path, words_path=known, columns=columns))
    shifted = save(times.assign(n=times.n - 1)[["text", "n", "subject", "rt"]], tmp_path / "t.csv")
    right(*parsed(shifted, words_path=known, columns=columns))  # from 0 there, from 1 here


@pytest.mark.merge
def test_words_that_differ_between_files_are_refused(tmp_path):
    known = save(words(), tmp_path / "words.csv")
    plain = readings().assign(word=lambda d: d.word.str.lower().str.strip(".,"))
    right(*parsed(save(plain, tmp_path / "t.csv"), words_path=known, columns=SPR))
    plain.loc[3, "word"] = "quickly"
    path = save(plain, tmp_path / "t.csv")
    with pytest.raises(REFUSALS, match="line 5: word is 'quickly', the words have 'slowly.' ther"):
        parsed(path, words_path=known, columns=SPR)
    right(*parsed(path, words_path=known, columns=SPR | {"responses": {"word": None}}))


@pytest.mark.merge
def test_a_column_a_measure_and_a_column_a_subject(tmp_path):
    frame = readings().assign(go=lambda d: d.rt * 2)
    columns = {"FP": "rt", "GP": "go"}
    path = save(frame, tmp_path / "wide.csv")
    assert (parsed(path, "GP", columns=columns)[1].time_ms / 2).tolist() == frame.rt.tolist()
    wide = words()
    for subject in SUBJECTS:
        wide[f"rt_{subject}_ms"] = [ms(subject, n) for n in range(len(wide))]
    path = save(wide, tmp_path / "readers.csv")
    right(*parsed(path, columns={"SPR": "rt_*_ms"}))
    wide["subject"] = "x"
    with pytest.raises(REFUSALS, match="a column a subject"):
        parsed(save(wide, path), columns={"SPR": "rt_*_ms"})
    with pytest.raises(REFUSALS, match=r"no column rt\*\*"):
        parsed(path, columns={"SPR": "rt**"})


@pytest.mark.merge
def test_means_over_readers_have_one_subject(tmp_path):
    frame = words().assign(N400=lambda d: -1.5 * d.place, rt=lambda d: 0.2 + d.place / 100)
    path = save(frame, tmp_path / "means.csv")
    _, times = parsed(path, columns=SPR, unit="s")
    assert set(times.subject) == {"mean"}
    assert times.time_ms.tolist() == pytest.approx([200 + 10 * n for n in frame.place])
    _, waves = parsed(path, "N400", amplitudes=["N400"])
    assert waves.amplitude_uv.tolist() == frame.N400.tolist()
    path = save(readings().drop(columns="subject"), path)
    with pytest.raises(REFUSALS, match="a second response to this word .*map `subject`"):
        parsed(path, columns=SPR)


@pytest.mark.merge
def test_what_is_mapped_is_kept_with_words_or_responses(tmp_path):
    frame = readings().assign(
        cloze=lambda d: d.place / 10,
        pos=lambda d: np.where(d.place == 1, "DET", "NOUN"),
        condition=lambda d: d.subject.map({"p1": "a", "p2": "b", "p10": None}),
        right=lambda d: d.subject != "p2",
        zipf=lambda d: d.nchar.where(d.place > 1).astype("Int64"),
    )
    names = ("cloze", "pos", "condition", "right", "zipf", "given_length")
    columns = SPR | {n: n for n in names} | {"given_length": "nchar"}
    path = save(frame, tmp_path / "mine.csv")
    known, times = parsed(path, columns=columns)
    assert list(known)[5:] == ["pos", "given_length", "sentence_label", "cloze", "zipf"]
    assert list(times) == ["subject", "word_id", "time_ms", "condition", "right"]
    assert known.cloze.tolist() == frame.cloze.tolist()[:13]
    assert known.zipf.isna().tolist() == (words().place == 1).tolist()
    assert times.right.dtype == bool and times.condition.isna().sum() == 13
    joined, _ = observations.filtered(
        observations.joined(known, times), [{"name": "n", "keep": "cloze > 0.3 and right"}]
    )
    assert len(joined) == 2 * 7
    with pytest.raises(REFUSALS, match="no column clozee, which options → columns → cloze"):
        parsed(path, columns=columns | {"cloze": "clozee"})
    with pytest.raises(REFUSALS, match="condition is 'b', before it was another of this word"):
        parsed(path, columns=SPR | {"words": {"condition": "condition"}})
    other = save(frame.assign(cloze=1), tmp_path / "other.csv")
    with pytest.raises(REFUSALS, match="cloze is 1, in the words 0.1; keep it under another"):
        parsed(other, words_path=path, columns=columns)


@pytest.mark.merge
@pytest.mark.parametrize("how", ["last_position", "span", "region"])
def test_a_response_to_several_words(tmp_path, how):
    stimuli = words().assign(region=lambda d: np.where(d.position < 3, "r1", "r2"))
    known = save(stimuli, tmp_path / "words.csv")
    regions = pd.DataFrame({"item": "harbour", "sentence": 1, "position": [1, 3]})
    regions = regions.assign(last_position=[2, 4], span=2, region=["r1", "r2"])
    regions = regions.assign(subject="p1", rt=[500, 700])
    keep = ["item", "sentence", *(["position"] if how != "region" else []), how, "subject", "rt"]
    path = save(regions[keep], tmp_path / "times.csv")
    join = {"position": "from 1"}
    _, times = parsed(path, words_path=known, columns=SPR, join=join)
    assert times[["word_id", "span", "time_ms"]].to_numpy().tolist() == [[0, 2, 500], [2, 2, 700]]
    if how == "region":
        save(stimuli.assign(region=["r1", "r2"] * 6 + ["r1"]), known)
        with pytest.raises(REFUSALS, match="do not stand side by side"):
            parsed(path, words_path=known, columns=SPR)
    else:
        save(regions.assign(last_position=[2, 9], span=[2, 9])[keep], path)
        with pytest.raises(REFUSALS, match="line 3: .*beyond its text"):
            parsed(path, words_path=known, columns=SPR, join=join)
        with pytest.raises(REFUSALS, match="several alignments fit.*position: from 0"):
            parsed(path, words_path=known, columns=SPR)


def test_phrases_are_regions_of_their_words(tmp_path):
    frame = pd.DataFrame(
        {
            "item": ["a"] * 4 + ["b"] * 2,
            "sentence": [1, 1, 2, 2, 1, 1],
            "position": [1, 2, 1, 2, 1, 2],
            "word": ["The old tide", "turned, slowly.", "Nobody", "came back.", "He", "left."],
        }
    )
    both = pd.concat([frame.assign(subject=s, rt=[n + 300 for n in range(6)]) for s in "pq"])
    path = save(both, tmp_path / "mine.csv")
    with pytest.raises(REFUSALS, match="line 2: word is 'The old tide'; .* `phrases: true`"):
        parsed(path, columns=SPR)
    known, times = parsed(path, columns=SPR, phrases=True)
    assert known.word.tolist() == " ".join(frame.word).split()
    assert known.position.tolist() == [1, 2, 3, 4, 5, 1, 2, 3, 1, 2]
    assert known.phrase.tolist() == [0, 0, 0, 1, 1, 2, 3, 3, 4, 5]
    assert times.word_id.tolist() == [0, 3, 5, 6, 8, 9] * 2
    assert times.span.tolist() == [3, 2, 1, 2, 1, 1] * 2
    assert times.time_ms.tolist() == [300, 301, 302, 303, 304, 305] * 2


def test_rows_to_words_that_there_are_not(tmp_path, capsys):
    known = save(words(), tmp_path / "words.csv")
    practice = readings().assign(item="practice", rt=9)
    path = save(pd.concat([practice, readings()]), tmp_path / "times.csv")
    with pytest.raises(REFUSALS, match="line 2: item 'practice', .* has no word .39 such"):
        parsed(path, words_path=known, columns=SPR)
    right(*parsed(path, words_path=known, columns=SPR, unmatched="dropped"))
    assert "39 rows dropped, to words that there are not" in capsys.readouterr().err
    with pytest.raises(REFUSALS, match="item 'practice', .* has no word"):
        save(practice.drop(columns="word"), path)
        parsed(path, words_path=known, columns=SPR, unmatched="dropped")


def test_one_text_without_a_name(tmp_path):
    frame = readings().query("item == 'mill'").drop(columns="item")
    path = save(frame, tmp_path / "mine.csv")
    with pytest.raises(REFUSALS, match="no column item; options → columns → item names"):
        parsed(path, columns=SPR)
    known, times = parsed(path, columns=SPR | {"item": None})
    assert known.word.tolist() == " ".join(TEXTS["mill"]).split() and len(times) == 21


def test_the_contracts_hold_what_is_kept():
    known = check_words(
        pd.DataFrame(WORDS, columns=["item", "sentence", "position", "word"]).assign(
            sentence=[1] * 4 + [2] * 2 + [3] * 5 + [4] * 2, word_id=range(13), mine=1.5
        ),
        "here",
    )
    assert list(known)[-1] == "mine"
    with pytest.raises(REFUSALS, match="here: the column odd holds list; give numbers or text"):
        check_words(known.assign(odd=[[1]] * 13), "here")
    with pytest.raises(REFUSALS, match="' ' is not a valid column name"):
        check_words(known.assign(**{" ": 1}), "here")
    times = pd.DataFrame({"subject": "a", "word_id": [0, 4], "time_ms": 1.0, "span": [4, 2]})
    assert check_responses(times, known, "here").span.dtype == "int32"
    with pytest.raises(REFUSALS, match="word 4 has a span of 3, which is below 1, or extends"):
        check_responses(times.assign(span=3), known, "here")


def test_the_workflow_s_own_keyword_is_no_option():
    from readingtimes import parsers

    with pytest.raises(REFUSALS, match="table has no option 'measures'"):
        parsers.accepted(parser, parser.words, {"measures": ["SPR"]})
