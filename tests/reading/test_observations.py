"""Filters, their counts, and the three partitions."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readingtimes.contracts import word_table
from readingtimes.fixations import measure, previous_fixated, since_fixation
from recency.errors import REFUSALS
from recency.reading import observations

WORDS = word_table(
    ["a"] * 6 + ["b"] * 3,
    [1, 1, 1, 2, 2, 2, 3, 3, 3],
    ["It", "is", "so", ".", "It", "was", "It", "too", "!"],
)
EDGES = {"name": "edges", "keep": "not sentence_first and not sentence_last"}


def responses(subjects=4):
    return pd.DataFrame(
        {
            "subject": np.repeat([f"{s:02d}" for s in range(subjects)], len(WORDS)),
            "word_id": np.tile(WORDS.word_id, subjects),
            "time_ms": np.arange(len(WORDS) * subjects, dtype="float64") + 95,
            "correct": "c",
        }
    )


def run(tmp_path, frame, filters, words=WORDS):
    words.to_parquet(tmp_path / "words.parquet")
    frame.to_parquet(tmp_path / "responses.parquet")
    outs = {f"out_{p}": tmp_path / f"{p}.parquet" for p in ("fit", "exploratory", "held_out")}
    observations.main(
        words=tmp_path / "words.parquet",
        responses=tmp_path / "responses.parquet",
        filters=filters,
        out_counts=tmp_path / "counts.csv",
        **outs,
    )
    parts = {name.removeprefix("out_"): pd.read_parquet(path) for name, path in outs.items()}
    return parts, (tmp_path / "counts.csv").read_text()


def test_counts_and_columns(tmp_path):
    filters = [{"name": "times", "keep": "100 < time_ms < 3000"}, EDGES]
    parts, counts = run(tmp_path, responses(), filters)
    assert counts == (
        "step,kept,dropped\npresented,36,0\ntimes,30,6\nedges,10,20\n"
        "fit,4,\nexploratory,3,\nheld_out,3,\n"
    )
    for name, part in parts.items():
        assert list(part) == ["subject", "word_id", "time_ms", "previous_fixated", "partition"]
        assert part.previous_fixated.dtype == "boolean"
        assert part.previous_fixated.isna().all()
        assert (part.partition == name).all()


def test_outputs_are_the_same_bytes_each_time(tmp_path):
    outs = []
    for run_number in ("first", "second"):
        folder = tmp_path / run_number
        folder.mkdir()
        run(folder, responses(), [EDGES])
        outs.append([p.read_bytes() for p in sorted(folder.iterdir())])
    assert outs[0] == outs[1]


def test_flags_of_sentences_and_items():
    frame = observations.joined(WORDS, responses(1))
    assert frame.sentence_first.tolist() == [True, False, False] * 3
    assert frame.sentence_last.tolist() == [False, False, True] * 3
    assert frame.index[frame.item_first].tolist() == [0, 6]
    assert frame.index[frame.item_last].tolist() == [5, 8]


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ("tim_ms > 0", r"no column tim_ms; did you mean time_ms\? There are: subject, word_id"),
        ("time_ms + 1", "not true or false of each row"),
        ("time_ms >", "cannot be evaluated"),
        ("@np.all(time_ms)", "@ means a variable of a program"),
        ("time_ms > 'a'", "cannot be evaluated"),
        ("True", "not true or false of each row"),
        ("time_ms > 9999", "filters → mine: .* drops all 36 responses"),
    ],
)
def test_a_filter_at_fault_is_named(tmp_path, keep, message):
    with pytest.raises(REFUSALS, match=message) as error:
        run(tmp_path, responses(), [{"name": "mine", "keep": keep}])
    assert "mine" in str(error.value)


def test_missing_flags_do_not_keep_a_row():
    frame = pd.DataFrame({"flag": pd.array([True, None, False], dtype="boolean")})
    kept, _ = observations.filtered(frame, [{"name": "flag", "keep": "flag"}])
    assert kept.index.tolist() == [0]


def test_an_empty_partition_is_refused(tmp_path):
    with pytest.raises(REFUSALS, match="no observation is left for the partition"):
        run(tmp_path, responses(1), [{"name": "one", "keep": "sentence == 1"}])


def test_words_of_another_dataset_are_refused(tmp_path):
    with pytest.raises(REFUSALS, match="of different data sets"):
        run(tmp_path, responses().assign(word_id=99), [])


def test_partition_is_footnote_7():
    frame = pd.DataFrame({"subject": ["03", "03", "07", "07", "11"], "sentence": [5, 9, 5, 9, 9]})
    expected = ["fit", "fit", "fit", "exploratory", "held_out"]
    assert observations.partition(frame).tolist() == expected


reading = st.lists(
    st.tuples(st.integers(1, 30), st.integers(1, 40)), min_size=1, max_size=80, unique=True
)


@given(reading)
def test_partitions_are_disjoint_and_complete_and_keep_sentences_whole(pairs):
    frame = pd.DataFrame(pairs, columns=["subject", "sentence"])
    frame["subject"] = frame.subject.map("{:02d}".format)
    frame = pd.concat([frame, frame], ignore_index=True)  # two words of each sentence
    found = observations.partition(frame)
    assert found.isin(["fit", "exploratory", "held_out"]).all()
    assert (found.groupby([frame.subject, frame.sentence]).nunique() == 1).all()
    shuffled = frame.sample(frac=1, random_state=1)
    assert observations.partition(shuffled).sort_index().equals(found)


@pytest.mark.merge
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_no_observation_is_lost_or_doubled(tmp_path_factory, data):
    frame = responses(6)
    frame["time_ms"] = data.draw(
        st.lists(st.sampled_from([50.0, 250.0, 900.0]), min_size=54, max_size=54)
    )
    try:
        filters = [{"name": "times", "keep": "time_ms > 100"}]
        parts, _ = run(tmp_path_factory.mktemp("run"), frame, filters)
    except REFUSALS:
        return
    together = pd.concat(parts.values())
    assert not together.duplicated(["subject", "word_id"]).any()
    assert len(together) == (frame.time_ms > 100).sum()


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 9))
def test_distance_and_previous_fixated_agree_with_the_rows(fixated, length):
    fixated = pd.Series(fixated)
    texts = pd.Series(np.arange(len(fixated)) // length)
    distance, flags = since_fixation(fixated), previous_fixated(fixated, [texts])
    for row in range(len(fixated)):
        back = next((n for n in range(1, row + 1) if fixated[row - n]), row + 1)
        assert distance[row] == back
        same = row > 0 and texts[row - 1] == texts[row]
        assert flags[row] == (same and fixated[row - 1])
        if flags[row]:
            assert distance[row] == 1


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 8), st.integers(1, 500)), min_size=1))
def test_measures_follow_their_definitions(rows):
    rows = sorted(rows, key=lambda row: row[0])
    text, place, time = (np.array(column) for column in zip(*rows, strict=True))
    sums = measure(np.zeros(len(rows)), text, place, time.astype(float), np.zeros(len(rows), bool))
    assert sums.visit.sum() == time.sum()
    for row in range(len(rows)):
        here = place[row]
        before = [place[i] for i in range(row) if text[i] == text[row]]
        after = [i for i in range(row, len(rows)) if text[i] == text[row]]
        stay = itertools.takewhile(lambda i, here=here: place[i] == here, after)
        not_past = itertools.takewhile(lambda i, here=here: place[i] <= here, after)
        visit, past = (sum(time[i] for i in part) for part in (stay, not_past))
        total = sum(time[i] for i in after if place[i] == here)
        starts = not before or here > max(before)
        new_visit = not before or before[-1] != here
        assert sums.visit[row] == (visit if new_visit else 0)
        assert sums.FFD[row] == (time[row] if starts else 0)
        assert sums.FP[row] == (visit if starts else 0)
        assert sums.TFT[row] == (total if here not in before else 0)
        assert sums.GP[row] == (past if starts else 0)
        assert sums.words_since_fixation[row] == (here - before[-1] if before else 0)


def test_a_subject_s_reading_of_a_stimulus_is_not_split_between_partitions():
    """Three conditions of each item, in sentences of their own."""
    rows = [
        (f"s{subject}", 3 * item + condition, f"i{item:02}")
        for subject in range(9) for item in range(12) for condition in range(3)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["subject", "sentence", "stimulus"])
    parts = frame.assign(partition=observations.partition(frame))
    assert (parts.groupby(["subject", "stimulus"]).partition.nunique() == 1).all()
    assert parts.partition.value_counts()["fit"] == len(parts) / 2
    by_sentence = observations.partition(frame.drop(columns="stimulus"))
    assert not by_sentence.equals(parts.partition)
    unknown = frame.assign(stimulus=frame.stimulus.where(frame.index > 0))
    across = frame.assign(stimulus=[f"i{n % 5}" for n in range(len(frame))])
    for other in (unknown, across):  # a stimulus that is missing, or crossed with sentences
        assert observations.partition(other).equals(by_sentence)


@pytest.mark.merge
def test_the_conditions_of_a_latin_square_are_in_all_partitions():
    """Lists rotate by subject + item, as partitions do; labels in any order, some readings lost."""
    for conditions in (2, 3, 4):
        square = pd.DataFrame(
            [(f"s{s:02}", f"i{i:02}", f"c{(s + i) % conditions}") for s in range(48) for i in range(48)],
            columns=["subject", "stimulus", "condition"],
        )  # fmt: skip
        square["sentence"] = square.stimulus + square.condition
        few = square.sample(frac=0.9, random_state=1)
        cells = (["condition"], ["sentence"], ["subject", "condition"])
        for frame, by, most in (
            *((square, cell, 0.126) for cell in cells),
            (few, ["condition"], 0.05),
        ):
            parts = frame.assign(partition=observations.partition(frame)).groupby(by).partition
            shares = parts.value_counts(normalize=True).unstack(fill_value=0)
            wanted = pd.Series({"fit": 0.5, "exploratory": 0.25, "held_out": 0.25})
            assert ((shares - wanted).abs() < most).all(axis=None)
    every = square[["subject", "stimulus"]].merge(
        pd.DataFrame({"condition": ["a", "b"]}), how="cross"
    )
    every["sentence"] = every.stimulus + every.condition
    plain = observations.partition(every.drop(columns="condition"))
    assert observations.partition(every).equals(plain)


@pytest.mark.merge
def test_partitions_are_of_what_all_words_have_whole(tmp_path):
    """A filler without a stimulus, though filtered out, leaves sentences as what is resampled: here, too."""
    filler = WORDS.sentence == WORDS.sentence.max()
    of_items = WORDS.assign(stimulus="i1").assign(stimulus=lambda w: w.stimulus.mask(filler, "i2"))
    keep = [{"name": "items", "keep": f"sentence != {WORDS.sentence.max()}"}]

    def parted(words):
        parts, _ = run(tmp_path, responses(), keep, words)
        return {name: set(zip(part.subject, part.word_id)) for name, part in parts.items()}

    plain = parted(WORDS)
    assert parted(of_items) != plain  # both sentences are versions of one stimulus
    assert parted(of_items.assign(stimulus=of_items.stimulus.mask(filler))) == plain
