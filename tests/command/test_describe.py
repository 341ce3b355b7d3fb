"""`recency describe`: made tables in different shapes; the YAML that is written runs, and is right."""

import contextlib
import io
import itertools
import os
import re
import shlex
import subprocess

import numpy as np
import pandas as pd
import pytest
import yaml

from own_corpus import SUBJECTS, ms, readings, right, save, words
from project import ROOT, copy_project, plan, planned
from readingtimes.formats import anything
from readingtimes.parsers import natural_stories
from recency.command.main import main
from recency.reading import responses as responses_rule
from recency.reading import words as words_rule
from recency.workflow.config import checks, loading


def means():
    return words().assign(
        FFD=[ms("p1", n) for n in range(13)], GD=[ms("p2", n) for n in range(13)], freq=0.5
    )


def per_subject():
    made = words().drop(columns="nchar")
    return made.assign(**{f"RT_{s[1:]}": [ms(s, n) for n in range(13)] for s in SUBJECTS})


def fixations():
    frame = readings().rename(columns={"rt": "IA_FIRST_RUN_DWELL_TIME", "word": "IA_LABEL"})
    frame["IA_REGRESSION_PATH_DURATION"] = frame.IA_FIRST_RUN_DWELL_TIME + 50
    return frame.rename(columns={"subject": "RECORDING_SESSION_LABEL", "position": "IA_ID"})


#: name → (table, file, what else is in the entry)
SHAPES = {
    "long": (readings(), "mine.csv", {}),
    "other names": (
        readings()
        .rename(columns={"item": "story_id", "sentence": "sent_nr", "position": "WordNum"})
        .rename(columns={"word": "token", "subject": "participant", "rt": "reading_time"}),
        "mine.tsv",
        {},
    ),
    "place in the text": (
        readings().drop(columns=["position"]).rename(columns={"place": "zone"}),
        "mine.csv.gz",
        {},
    ),
    "no sentences": (
        readings().drop(columns=["sentence", "position"]).rename(columns={"place": "word_nr"}),
        "mine.parquet",
        {"sentences": "punctuation"},
    ),
    "sentences alone": (
        readings()
        .drop(columns=["place"])
        .assign(sentence_id=lambda d: d.sentence + 2 * (d["item"] == "mill"))
        .drop(columns=["item", "sentence"]),
        "mine.csv",
        {},
    ),
    "lists": (
        readings()
        .assign(item=1, list=lambda d: d.nchar * 0 + 1)
        .assign(list=lambda d: [1 + (i == "mill") for i in readings()["item"]]),
        "mine.csv",
        {},
    ),
    "unusual names": (
        readings()
        .drop(columns=["sentence", "position"])
        .rename(columns={"item": "tale", "place": "nr"}),
        "mine.csv",
        {"sentences": "punctuation"},
    ),
    "rows alone": (readings().drop(columns=["position", "place"]), "mine.xlsx", {}),
    "seconds": (readings().assign(rt=lambda d: d.rt / 1000), "mine.csv", {"unit": "s"}),
    "a column a subject": (per_subject(), "mine.csv", {}),
    "eyes": (fixations(), "mine.csv", {"eye_tracking": True}),
    "means": (means(), "mine.csv", {}),
}


def described(*arguments):
    """Run the command; give its status, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["describe", *map(str, arguments)])
    return status, out.getvalue(), err.getvalue()


def run_entry(text, folder):
    """Check an entry as a config's, and run its rules: name, entry, words, times of all measures."""
    ((name, entry),) = yaml.safe_load(text)["datasets"].items()
    config = loading.load(ROOT)
    config["datasets"][name] = entry
    checks.check(config, ROOT / "config.schema.yaml")
    made = folder / "words.parquet"
    common = {"parser": entry["parser"], "options": entry["options"]}
    files = {
        part: {r: f["local"] for r, f in entry[part].items()} for part in ("words", "responses")
    }
    words_rule.main(files=files["words"], out=made, measures=list(entry["measures"]), **common)
    times = {}
    for measure in entry["measures"]:
        out = folder / f"{measure}.parquet"
        responses_rule.main(
            files=files["responses"], words=made, measure=measure, out=out, **common
        )
        times[measure] = pd.read_parquet(out)
    return name, entry, pd.read_parquet(made), times


@pytest.mark.merge
@pytest.mark.parametrize("shape", SHAPES)
def test_the_yaml_that_is_written_runs_and_is_right(tmp_path, shape):
    frame, name, options = SHAPES[shape]
    path = save(frame, tmp_path / name)
    status, out, err = described(path)
    assert (status, err) == (0, "")
    _, entry, known, times = run_entry(out, tmp_path)
    found = {k: v for k, v in entry["options"].items() if k != "columns"}
    assert found == options
    assert len([line for line in out.splitlines() if not line.startswith("#")]) < 25
    if shape == "means":
        assert list(times) == ["FFD", "FP"] and entry["partitioned"] is False
        assert times["FP"].time_ms.tolist() == [ms("p2", n) for n in range(13)]
        assert set(times["FP"].subject) == {"mean"}
        return
    if shape == "eyes":
        assert list(times) == ["GP", "FP"]
        assert (times["GP"].time_ms - times["FP"].time_ms).tolist() == [50] * 39
        assert "previous_fixated" in times["FP"]
        right(known, times["FP"])
        return
    if shape in ("sentences alone", "lists"):  # whose items are called otherwise
        known["item"] = ["harbour"] * 6 + ["mill"] * 7
    if shape == "a column a subject":
        names = {"01": "p01", "02": "p02", "10": "p10"}
        times["SPR"]["subject"] = times["SPR"].subject.map(names)
    times["SPR"]["time_ms"] = times["SPR"].time_ms.round(6)
    right(known, times["SPR"])


def test_a_counter_is_no_time_and_one_pause_does_not_make_seconds_milliseconds(tmp_path):
    numbers = range(1, 141)
    cells = itertools.product(("anna", "ben"), ("mill", "harbour"), numbers)
    frame = pd.DataFrame(cells, columns=["reader", "tale", "nr"])
    frame["token"] = [
        f"{'Ww'[n % 7 != 1]}{tale[n % 4]}{'aeiou'[n * n % 11 % 5]}{'.' * (n % 7 == 0)}"
        for tale, n in zip(frame.tale, frame.nr, strict=True)
    ]
    frame["rt"] = 0.2 + frame.index % 90 / 1000
    frame.loc[5, "rt"] = 190.5
    status, out, _ = described(save(frame, tmp_path / "mine.csv"))
    (entry,) = yaml.safe_load(out)["datasets"].values()
    assert status == 0 and entry["options"].pop("columns") == {
        "item": "tale", "position": "nr", "word": "token", "subject": "reader", "SPR": "rt",
    }  # fmt: skip
    assert entry["options"] == {"sentences": "punctuation", "unit": "s"}


def test_what_a_table_holds_is_shown(tmp_path):
    frame = readings()
    frame["rt"] = frame.rt.astype("object")
    frame.loc[[2, 3], "rt"] = "NA"
    frame["answered"] = frame.rt.astype(str).str.len() > 2
    _, out, _ = described(save(frame, tmp_path / "mine.csv"))
    lines = [line.split() for line in out.splitlines()]
    assert f"# {tmp_path / 'mine.csv'}: 39 rows, 9 columns" in out
    rt = next(line for line in lines if line[1:2] == ["rt"])
    middle = f"{pd.to_numeric(frame.rt, errors='coerce').median():g}"
    ends = ["200", "…", middle, "…", "520"]
    assert rt[2:] == ["whole", "number", "2", "31", *ends, "200,", "210,", "240"]
    assert ["#", "answered", "true", "or", "false", "0", "2", "True,", "False"] in lines
    assert "2 of 39 responses of SPR dropped, without a value" in out


@pytest.mark.merge
def test_words_may_be_in_another_file(tmp_path):
    stimuli = words().rename(columns={"item": "story", "word": "token"})
    known = save(stimuli[["story", "sentence", "position", "token", "nchar"]], tmp_path / "w.csv")
    frame = readings().rename(columns={"item": "text_id", "sentence": "sent_id"})
    path = save(frame[["text_id", "sent_id", "position", "subject", "rt"]], tmp_path / "t.csv")
    status, out, err = described(path)
    assert status == 2 and "no column looks like words; name what has them: --words FILE" in err
    status, out, _ = described(path, "--words", known)
    assert status == 0
    _, entry, read, times = run_entry(out, tmp_path)
    right(read, times["SPR"])
    assert read.nchar.tolist() == words().nchar.tolist()
    assert entry["options"]["columns"]["responses"]["item"] == "text_id"
    status, _, err = described(known)
    assert status == 2 and "no column looks like reading times in ms" in err
    assert described(path, "--words", tmp_path / "no.csv")[0] == 2


def test_words_may_be_another_dataset_s(tmp_path):
    path = save(readings()[["item", "position", "subject", "rt"]], tmp_path / "t.csv")
    status, out, err = described(path, "--words", "natural_stories")
    if status:  # its words are here, and these are no times of them
        assert "no row has a word in the dataset" in err
        out = out[out.index("#     datasets:") :].replace("#     ", "")
    entry = yaml.safe_load(out)["datasets"]["t"]
    assert entry["words"] == {"dataset": "natural_stories"}
    config = loading.load(ROOT)
    config["datasets"]["t"] = entry
    checks.check(config, ROOT / "config.schema.yaml")


@pytest.mark.merge
def test_phrases_are_seen(tmp_path):
    frame = readings().assign(word=lambda d: d.word.where(d.place != 2, d.word + " indeed"))
    _, out, _ = described(save(frame, tmp_path / "mine.csv"))
    _, entry, known, times = run_entry(out, tmp_path)
    assert entry["options"]["phrases"] is True
    assert len(known) == 15 and times["SPR"].span.sum() == 3 * 15


@pytest.mark.merge
def test_positions_with_a_gap_are_refused_and_both_readings_shown(tmp_path):
    frame = readings()
    path = save(frame[frame.place != 3], tmp_path / "mine.csv")
    status, out, err = described(path)
    assert status == 2 and "no word before" in err and yaml.safe_load(out) is None
    assert "position: position" in out and "`position: null`" in out


@pytest.mark.merge
def test_another_encoding_and_decimal_marks_are_found(tmp_path):
    frame = readings().replace({"word": {"Nobody": "Nobödy"}}).assign(rt=lambda d: d.rt + 0.5)
    path = tmp_path / "mine.csv"
    frame.to_csv(path, sep=";", decimal=",", encoding="cp1252", index=False)
    _, out, _ = described(path)
    _, entry, known, times = run_entry(out, tmp_path)
    assert entry["options"]["encoding"] == "cp1252" and entry["options"]["decimal"] == ","
    assert "Nobödy" in known.word.tolist() and times["SPR"].time_ms.tolist()[0] == 200.5


def test_out_and_names_that_are_taken(tmp_path, monkeypatch):
    path = save(readings(), tmp_path / "provo.csv")
    monkeypatch.chdir(ROOT)
    out = tmp_path / "mine.yaml"
    status, said, _ = described(path, "--out", out)
    assert status == 0 and f"written to {out}" in said and "datasets:" not in said
    assert list(yaml.safe_load(out.read_text())["datasets"]) == ["my_provo"]


@pytest.mark.merge
def test_the_next_command_runs_as_printed(tmp_path, monkeypatch):
    """With the entry saved under the name in it; `-n` shows the plan."""
    monkeypatch.chdir(ROOT)
    _, out, _ = described(save(readings(), tmp_path / "mine.csv"))
    (printed,) = re.findall("^# next: (.+)$", out, re.MULTILINE)
    program, target, option, *configs = shlex.split(printed)
    assert (program, option, configs[-1]) == ("./run", "--configfile", "mine.yaml")
    project = copy_project(tmp_path / "project")
    (project / "mine.yaml").write_text(out)
    run = plan(project, target, configs=configs)
    assert run.returncode == 0 and "check_dataset" in planned(run.stdout), run.stdout[-3000:]


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "is empty"), (b"PAR1", "no whole Parquet file"), (b"a\n1\n", "no column looks like")],
)
def test_what_is_no_table_is_one_line(tmp_path, data, message):
    (tmp_path / "bad.csv").write_bytes(data)
    status, out, err = described(tmp_path / "bad.csv")
    assert (status, out) == (2, "") and message in err and err.count("\n") == 1


@pytest.mark.merge
@pytest.mark.skipif(not (ROOT / ".venv/bin/python").exists(), reason="not set up here")
def test_run_describe_names_files_from_where_the_user_is(tmp_path):
    save(readings(), tmp_path / "mine.csv")
    made = subprocess.run(
        [ROOT / "run", "describe", "mine.csv"],
        cwd=tmp_path, capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    assert yaml.safe_load(made.stdout)["datasets"]["mine"]["words"]["table"]["local"] == str(
        tmp_path / "mine.csv"
    )


def test_run_helps_before_set_up(tmp_path):
    script = tmp_path / "run"
    script.write_text((ROOT / "run").read_text())
    script.chmod(0o755)
    shown = subprocess.run([script, "--help"], capture_output=True, text=True, check=True).stdout
    assert "./run describe FILE" in shown and "make setup" in shown


def test_the_join_with_a_dataset_is_tried(tmp_path, shared_data, monkeypatch):
    """Natural Stories' times: the report and three rows as read, or what is wrong with them."""
    monkeypatch.chdir(ROOT)
    mirror = shared_data.parent / "mirror"
    monkeypatch.setenv("RECENCY_MIRROR", f"{mirror}:{shared_data}")
    frame = pd.read_csv(
        shared_data / "naturalstories" / "naturalstories_batch2_RTs.tsv.gz", sep="\t", nrows=20_000
    )
    path = save(frame, tmp_path / "times.csv")
    status, out, err = described(path, "--words", "natural_stories")
    assert status == 2 and yaml.safe_load(out) is None
    assert (
        "item 8, position 981 has no word (38 such rows); the words have 980 words in item 08"
        in err
    )
    story = natural_stories.words({"stories": shared_data / "naturalstories" / "all_stories.tok"})
    story = story[story["item"] == "08"].assign(zone=range(980))
    made = story[["item", "zone", "word"]].assign(subject="p1", rt=300 + story.zone)
    _, out, _ = described(save(made, path), "--words", "natural_stories")
    assert "joined by join: {item: labels, position: from 0 in item}" in out
    assert "three rows as read:" in out and "100 % of which are the same" in out


@pytest.mark.merge
def test_a_table_of_surprisals_gives_lms(tmp_path):
    scores = words().assign(
        gpt2_surprisal=[2.5 + n / 3 for n in range(13)],
        lstm_surprisal=[3.5 + n / 4 for n in range(13)],
    )
    columns = ["item", "place", "word", "gpt2_surprisal"]
    known = save(words(), tmp_path / "words.csv")
    one = save(scores[columns], tmp_path / "one.csv")
    status, out, _ = described(one, "--words", known)
    entry = yaml.safe_load(out)["lms"]["gpt2_table"]
    assert status == 0 and entry["surprisals"]["unit"] in ("bits", "nats")
    assert entry["surprisals"]["columns"] == {
        "surprisal": "gpt2_surprisal", "item": "item", "position": "place", "word": "word",
    }  # fmt: skip
    assert "not stated in the table" in out and "verified by the words, 100 %" in out
    assert "'The', word 1 of sentence 1 (text harbour): surprisal" in out
    many = save(scores[[*columns, "lstm_surprisal"]], tmp_path / "many.csv")
    made = yaml.safe_load(described(many)[1])
    config = loading.load(ROOT) | made
    loading.complete(config, ROOT)
    checks.check(config, ROOT / "config.schema.yaml")
    assert config["lm_groups"]["many"] == ["gpt2_many", "lstm"]
    assert config["lms"]["lstm"]["surprisals"]["columns"]["surprisal"] == "lstm_surprisal"
    logs = save(scores[columns].assign(lp=-scores.gpt2_surprisal).drop(columns=columns[-1]), one)
    assert "logprob: lp" in described(logs)[1]


def test_one_column_of_an_lm_is_read(tmp_path):
    sums = np.linspace(2.5, 9, 13)
    scores = words().assign(
        mean_surprisal=sums - 1, sum_surprisal=sums, surprisal_base2=sums / np.log(2)
    )
    _, out, _ = described(save(scores, tmp_path / "lm.csv"))
    (entry,) = yaml.safe_load(out)["lms"].values()
    assert entry["surprisals"]["columns"]["surprisal"] == "surprisal_base2"
    assert entry["surprisals"]["unit"] == "bits"
    assert "left out: mean_surprisal: means over tokens" in out
    assert "left out: sum_surprisal: 0.693 times surprisal_base2" in out


@pytest.mark.merge
def test_columns_of_a_larger_and_a_smaller_lm_that_are_swapped_are_noted(tmp_path):
    known = save(words(), tmp_path / "words.csv")
    large = np.linspace(2.5, 9, 13)
    for is_right, values in ((True, (large + 1, large)), (False, (large, large + 1))):
        named = dict(zip(("pythia_160m_surprisal", "pythia_2.8b_surprisal"), values, strict=True))
        out = described(save(words().assign(**named), tmp_path / "lm.csv"), "--words", known)[1]
        assert ("are their columns swapped?" in out) != is_right


def test_the_unit_of_surprisals_is_told_by_their_words(tmp_path, shared_data):
    rds = shared_data / "naturalstories_reference_lms/natural_stories_surprisals.rds"
    table = anything.read(rds, anything.Style()).frame.iloc[:4000]
    keys = {"item": table.Story_Num, "place": table.Word_In_Story_Num, "word": table.Word}
    known = save(pd.DataFrame(keys), tmp_path / "words.csv")
    bits = pd.to_numeric(table.ngram_surp, errors="coerce")
    for unit, size in (("bits", 1), ("nats", np.log(2))):  # means of 10 and of 7
        file = save(pd.DataFrame(keys | {"surprisal": bits * size}), tmp_path / f"{unit}.csv")
        status, out, _ = described(file, "--words", known)
        (entry,) = yaml.safe_load(out)["lms"].values()
        assert status == 0 and entry["surprisals"]["unit"] == unit
        assert "an LM whose surprisal follows length and frequency" in out
    wrong = save(pd.DataFrame(keys | {"bits": bits * np.log(2)}), tmp_path / "stated.csv")
    status, _, err = described(wrong, "--words", known)
    assert status == 2 and "Declare `unit: nats`" in err


@pytest.mark.merge
def test_measures_are_seen_in_the_values(tmp_path):
    frame = readings().rename(columns={"rt": "t2"})
    frame = frame.assign(t1=frame.t2 - frame.place, t3=frame.t2 + 3 * frame.position)
    frame["t1"] = frame["t1"].clip(lower=50)
    _, out, _ = described(save(frame, tmp_path / "eyes.csv"))
    columns = yaml.safe_load(out)["datasets"]["eyes"]["options"]["columns"]
    assert [columns[name] for name in ("FFD", "FP", "GP")] == ["t1", "t2", "t3"]
    slow = readings().assign(rt=lambda d: d.rt + 500)
    _, out, _ = described(save(slow, tmp_path / "slow.csv"))
    assert list(yaml.safe_load(out)["datasets"]["slow"]["measures"]) == ["Maze"]
    stamped = readings().assign(time=lambda d: 1.7e9 + d.rt).drop(columns="rt")
    status, _, err = described(save(stamped, tmp_path / "stamped.csv"))
    assert status == 2 and "time is named like a time" in err
    wrong = readings().assign(FFD=lambda d: d.rt + 9, gaze=lambda d: d.rt).drop(columns="rt")
    assert "which cannot be" in described(save(wrong, tmp_path / "wrong.csv"))[1]


def test_the_entry_states_another_language_than_english(tmp_path, capsys):
    german = [
        "Er",
        "ist",
        "in",
        "dem",
        "Garten",
        "und",
        "sie",
        "hat",
        "ihn",
        "nicht",
        "gesehen,",
        "denn",
        "es",
        "war",
        "auf",
        "dem",
        "Hof",
        "zu",
        "dunkel.",
    ]
    english = [
        "He",
        "is",
        "in",
        "the",
        "garden",
        "and",
        "she",
        "has",
        "not",
        "seen",
        "him,",
        "for",
        "it",
        "was",
        "on",
        "the",
        "lawn",
        "too",
        "dark",
        "to",
        "see.",
    ]
    for text, expected in [(german, "de"), (english, None)]:
        rows = ["subject,item,position,word,rt"]
        cells = [(s, n, w) for s in "ab" for n, w in enumerate(text, 1)]
        rows += [f'{s},1,{n},"{w}",{300 + n * (1 + (s == "b"))}' for s, n, w in cells]
        path = tmp_path / "reading.csv"
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        assert main(["describe", str(path)]) == 0
        entry = yaml.safe_load(capsys.readouterr().out)["datasets"]["reading"]
        assert entry.get("language") == expected
