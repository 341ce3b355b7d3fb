"""`recency describe` of experiments: the shape is seen in the values, and the YAML runs and is right."""

import pandas as pd
import pytest
from test_describe import described, run_entry

from item_tables import cells, means, trials
from own_corpus import readings, save


def in_columns(path, frame):
    """Write a table, describe it, and give the entry, words, responses and what was printed."""
    status, out, err = described(save(frame, path))
    assert (status, err) == (0, "") and "corrected" not in out
    _, entry, known, found = run_entry(out, path.parent)
    return entry, known, found, out


@pytest.mark.merge
def test_experiments_are_seen_in_the_values(tmp_path):
    frame = means(24).drop(columns="place")
    renamed = frame.rename(
        columns={"item": "Item_Nr", "condition": "c", "target": "t", "sentence": "s"}
    )
    entry, known, found, out = in_columns(tmp_path / "norms.csv", renamed)
    assert entry["options"]["shape"] == "items" and entry["options"]["scores"] == ["Rating"]
    columns = entry["options"]["columns"]
    assert columns == {
        "stimulus": "Item_Nr", "condition": "c", "sentence": "s", "critical": "t",
        "Rating": "rating", "cloze": "cloze",
    }  # fmt: skip
    assert "24 stimuli × 3 conditions (high, medium, low), 72 texts" in out
    assert "[gate,] (critical) of text '1 high': Rating 1.01" in out
    assert known["item"].nunique() == 72 and len(found["Rating"]) == 72
    cloze, *_ = in_columns(tmp_path / "cloze.csv", frame.drop(columns="rating"))
    assert cloze["options"]["scores"] == ["Cloze"]


@pytest.mark.merge
def test_a_column_per_region_marks_and_amplitudes_are_seen(tmp_path):
    frame = trials(12).drop(columns=["place", "target"])
    frame["sentence"] = [s.replace("the ", "the [", 2).replace("the [", "the ", 1).replace(",", "],")
                         for s in frame.sentence]  # fmt: skip
    entry, known, found, _ = in_columns(tmp_path / "trials.csv", frame)
    assert entry["options"]["marker"] == "[]" and "[" not in "".join(known.word)
    assert entry["options"]["regions"] == {"SPR_spillover_1": "spillover_1"}
    assert set(found["SPR_spillover_1"].merge(known, on="word_id").region) == {"spillover_1"}
    volts = trials(12).assign(n400_uv=lambda d: 3 - d.rt_critical / 100)
    volts = volts.drop(columns=["rt_critical", "rt_spill1", "place"])
    entry, _, found, _ = in_columns(tmp_path / "eeg.csv", volts)
    assert entry["options"]["amplitudes"] == ["N400"] and found["N400"].amplitude_uv.min() < 0


@pytest.mark.merge
def test_the_region_of_times_is_read_in_their_name_or_asked(tmp_path):
    frame = trials(12).drop(columns="place").assign(late=lambda d: d.rt_critical + 500)
    short = frame.rename(columns={"rt_spill1": "rt_sp1", "late": "rt_crit_plus2"})
    entry, known, found, _ = in_columns(tmp_path / "short.csv", short)
    assert entry["options"]["columns"]["SPR"] == "rt_critical"
    for number in (1, 2):
        joined = found[f"SPR_spillover_{number}"].merge(known, on="word_id")
        assert set(joined.region) == {f"spillover_{number}"}
    asked = frame.drop(columns="late").rename(columns={"rt_spill1": "rt_other"})
    status, _, err = described(save(asked, tmp_path / "x.csv"))
    assert status == 2 and "'rt_critical' and 'rt_other' would both be times of the region" in err


@pytest.mark.merge
def test_the_factors_of_conditions_are_columns(tmp_path):
    frame = means(24).drop(columns=["place", "cloze"])
    frame = frame[frame.condition != "low"].assign(frame="active")
    other = frame.assign(frame="passive", sentence="Then " + frame.sentence)
    entry, known, *_ = in_columns(tmp_path / "two.csv", pd.concat([frame, other]))
    assert set(entry["options"]["columns"]["condition"]) == {"condition", "frame"}
    assert set(known.frame) == {"active", "passive"}


def test_few_items_are_noted(tmp_path):
    for items, said in ((6, True), (12, False)):
        _, out, _ = described(save(means(items).drop(columns="place"), tmp_path / f"{items}.csv"))
        assert ("items: too few" in out) is said, out


@pytest.mark.merge
def test_stimuli_of_an_experiment_may_be_in_another_file(tmp_path):
    stimuli = save(cells(12).drop(columns="place"), tmp_path / "stimuli.csv")
    rows = trials(12).rename(columns={"item": "Item", "condition": "cloze_level"})
    path = save(
        rows[["subject", "Item", "cloze_level", "target", "rt_critical"]], tmp_path / "rt.csv"
    )
    status, out, _ = described(path, "--words", stimuli)
    assert status == 0 and "verified by the critical words" in out
    _, entry, known, found = run_entry(out, tmp_path)
    assert entry["options"]["columns"]["responses"]["condition"] == "cloze_level"
    joined = found["SPR"].merge(known, on="word_id").sort_values(["subject", "word_id"])
    assert joined.time_ms.tolist() == rows.sort_values(["subject", "Item"]).rt_critical.tolist()


@pytest.mark.merge
def test_positions_alone_are_not_guessed(tmp_path):
    frame = means(12).rename(columns={"place": "target_pos"}).drop(columns=["target", "cloze"])
    odd = frame["item"] % 2 == 1
    frame["sentence"] = frame.sentence.where(~odd, frame.sentence.str.split(n=2).str[2])
    frame["target_pos"] -= 2 * odd
    status, _, err = described(save(frame, tmp_path / "p.csv"))
    assert status == 2 and "say `join: {position: from 0}`" in err
    zero = frame.assign(target_0idx=frame.target_pos - 1).drop(columns="target_pos")
    entry, known, *_ = in_columns(tmp_path / "z.csv", zero)
    assert entry["options"]["join"] == {"position": "from 0"}
    critical = known[known.region == "critical"]
    assert set(critical.position) == {6, 8} and set(critical.word) == {"gate,", "wagon,", "violin,"}


@pytest.mark.merge
def test_tables_of_words_and_phrases_are_no_experiments(tmp_path):
    whole = readings().groupby("item").word.agg(" ".join)
    frame = readings().assign(passage=lambda d: d["item"].map(whole), condition="a")
    frame["condition"] = frame.subject
    _, out, _ = described(save(frame, tmp_path / "words.csv"))
    assert "shape" not in out
    long = pd.DataFrame(
        [
            (item, n, f"{word} of the old {noun}", f"p{s}", 400 + 10 * n + s)
            for s in range(3)
            for item, noun in enumerate(("mill", "boat", "road", "hill"))
            for n, word in enumerate(("walls", "floor", "end", "sound"), 1)
        ],
        columns=["item", "region_nr", "text", "subject", "rt"],
    )
    _, out, _ = described(save(long, tmp_path / "phrases.csv"))
    assert "shape" not in out and "phrases: true" in out


@pytest.mark.merge
def test_items_and_conditions_cross_whatever_their_names(tmp_path):
    german = {"item": "Satz", "condition": "Bedingung", "subject": "VP", "rt_critical": "RT"}
    frame = trials(12).drop(columns=["place", "rt_spill1"]).rename(columns=german)
    entry, known, _, out = in_columns(tmp_path / "lesen.csv", frame)
    columns = entry["options"]["columns"]
    assert (columns["stimulus"], columns["condition"]) == ("Satz", "Bedingung")
    assert "12 stimuli × 3 conditions" in out and known.stimulus.nunique() == 12
    lists = frame.assign(Liste=frame.groupby(["Satz", "Bedingung"]).ngroup() % 3)
    entry, *_ = in_columns(tmp_path / "listen.csv", lists)  # a list, too, crosses with the items
    assert entry["options"]["columns"]["condition"] == "Bedingung"
    unnamed = lists.rename(columns={"Bedingung": "Stufe", "Liste": "Wahl"})
    # Two columns would do: neither is taken.
    entry, *_ = in_columns(tmp_path / "offen.csv", unnamed)
    assert "condition" not in entry["options"]["columns"]
