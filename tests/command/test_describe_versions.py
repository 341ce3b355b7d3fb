"""`recency describe` of experiments with a row per word: items and conditions are seen in the words."""

import numpy as np
import pandas as pd
import pytest
from test_describe import described, run_entry

from own_corpus import save

NOUNS = [
    "dog",
    "cat",
    "cook",
    "nurse",
    "pilot",
    "judge",
    "clerk",
    "guard",
    "coach",
    "monk",
    "thief",
    "baker",
]
VERBS = ["saw", "chased", "helped", "pushed", "warned", "called", "hired", "praised"]


def sentence(item, clause, frequent):
    noun, verb = NOUNS[item % len(NOUNS)], VERBS[item % len(VERBS)]
    rare = "old" if frequent == "hi" else "obsolete"
    inner = (
        f"that {verb} the {rare} teacher" if clause == "subj" else f"that the {rare} teacher {verb}"
    )
    return f"The {noun} {inner} left the room very quietly."


def experiment(readers=8, items=12, filler=None):
    """Return a Latin square of two factors, a row per word; `filler` gives a filler's number of item k."""
    cells = [(clause, frequent) for clause in ("subj", "obj") for frequent in ("hi", "lo")]
    random, rows = np.random.default_rng(4), []
    for reader in range(readers):
        texts = [
            ("rc", k + 1, *cells[(k + reader) % 4], sentence(k, *cells[(k + reader) % 4]))
            for k in range(items)
        ]
        if filler is not None:
            texts += [
                ("filler", filler(k), "fill", "fill", f"Later {VERBS[k]} men were seen in a far {NOUNS[k]} shop.")
                for k in range(6)
            ]  # fmt: skip
        for place in random.permutation(len(texts)):
            kind, number, clause, frequent, text = texts[place]
            for position, word in enumerate(text.split(), 1):
                time = int(300 + 10 * len(word) + random.exponential(80))
                rows.append((f"P{reader}", reader % 4 + 1, kind, number, clause, frequent, position, word, time))  # fmt: skip
    columns = ["Participant", "List", "Kind", "ItemNum", "Clause", "Freq", "WordPos", "Word", "RT"]
    return pd.DataFrame(rows, columns=columns)


def columns_of(path, frame):
    status, out, err = described(save(frame, path))
    assert (status, err) == (0, "")
    _, entry, words, _ = run_entry(out, path.parent)
    return entry["options"]["columns"], words, out


@pytest.mark.merge
@pytest.mark.parametrize("dropped", [["Kind"], ["Kind", "List"]])
@pytest.mark.parametrize("seed", [None, 1])
def test_two_factors_of_a_latin_square(tmp_path, dropped, seed):
    frame = experiment().drop(columns=dropped)
    if seed is not None:
        frame = frame.sample(frac=1, random_state=seed)
    columns, words, out = columns_of(tmp_path / "clauses.csv", frame)
    assert columns["item"] == ["ItemNum", "Clause", "Freq"]
    assert (columns["stimulus"], columns["condition"]) == ("ItemNum", ["Clause", "Freq"])
    assert columns["clause"] == "Clause" and columns["freq"] == "Freq"
    assert "12 stimuli × 4 conditions" in out
    texts = words.groupby("item")[["stimulus", "condition"]].nunique()
    assert len(texts) == 48 and (texts == 1).all(axis=None)
    of_item = words[words.stimulus == "3"].groupby("condition").word.agg(" ".join)
    assert of_item["obj lo"] == sentence(2, "obj", "lo")


@pytest.mark.merge
def test_a_readers_list_of_another_name_is_no_condition(tmp_path):
    frame = experiment().drop(columns="Kind").rename(columns={"List": "booklet"})
    frame = frame[["booklet", *frame.columns.drop("booklet")]]
    columns, _, _ = columns_of(tmp_path / "booklets.csv", frame)
    assert columns["condition"] == ["Clause", "Freq"] and columns["item"][0] == "ItemNum"


@pytest.mark.merge
def test_practice_and_questions_are_left_out(tmp_path):
    frame = experiment().drop(columns=["Kind", "List"]).assign(phase="exp", screen="read")
    asked = frame.drop_duplicates(["Participant", "ItemNum"]).assign(
        screen="question", WordPos="", Word="Was it so?", RT=1800
    )
    tried = frame[frame.ItemNum == 1].assign(phase="practice", ItemNum=99)
    frame = pd.concat([tried, frame, asked]).rename(columns={"RT": "lat"})
    columns, words, out = columns_of(tmp_path / "screens.csv", frame)
    assert "lat" in columns.values() and words.stimulus.nunique() == 12
    assert "rows: {phase: [exp], screen: [read]}" in out


@pytest.mark.merge
def test_one_column_of_conditions(tmp_path):
    frame = experiment().drop(columns=["Kind", "List"])
    frame["condition"] = frame.Clause + "_" + frame.Freq
    columns, words, _ = columns_of(tmp_path / "one.csv", frame.drop(columns=["Clause", "Freq"]))
    assert columns["item"] == ["ItemNum", "condition"] and columns["condition"] == "condition"
    assert columns["stimulus"] == "ItemNum" and words.stimulus.nunique() == 12


@pytest.mark.merge
def test_fillers_with_numbers_of_their_own_are_stimuli_of_one_text(tmp_path):
    frame = experiment(filler=lambda k: 101 + k)
    columns, words, _ = columns_of(tmp_path / "numbered.csv", frame)
    assert columns["stimulus"] == "ItemNum"
    assert words.stimulus.nunique() == 18 and words["item"].nunique() == 54


@pytest.mark.merge
def test_fillers_without_conditions_are_left_out(tmp_path):
    frame = experiment(filler=lambda k: 101 + k).replace(
        {"Clause": {"fill": ""}, "Freq": {"fill": ""}}
    )
    _, out, _ = described(save(frame.drop(columns="Kind"), tmp_path / "empty.csv"))
    _, entry, words, found = run_entry(out, tmp_path)
    assert entry["options"]["rows"] == {"Clause": ["obj", "subj"], "Freq": ["hi", "lo"]}
    assert words.stimulus.nunique() == 12 and words["item"].nunique() == 48
    (times,) = found.values()
    assert len(times) == (frame.Clause != "").sum() and "left out by `rows`" in out


@pytest.mark.merge
def test_fillers_that_are_numbered_from_1_again_are_no_condition(tmp_path):
    """The column of the experiment is part of the stimulus; without one, the two ways are said."""
    frame = experiment(filler=lambda k: 1 + k)
    frame["condition"] = frame.Clause + frame.Freq
    frame = frame.drop(columns=["List", "Clause", "Freq"])
    columns, words, _ = columns_of(tmp_path / "kinds.csv", frame)
    assert set(columns["stimulus"]) == {"Kind", "ItemNum"}
    assert words.stimulus.nunique() == 18
    columns, words, out = columns_of(tmp_path / "mixed.csv", frame.drop(columns="Kind"))
    assert "stimulus" not in columns and "if these are versions of one item" in out
    assert words["item"].nunique() == 54


@pytest.mark.merge
def test_other_texts_under_the_same_numbers_are_no_versions(tmp_path):
    frame = experiment(items=6).query("Clause == 'subj' and Freq == 'hi'")
    other = experiment(items=12).query("Clause == 'obj' and Freq == 'lo' and ItemNum > 6")
    other = other.assign(ItemNum=other.ItemNum - 6, Word=other.Word.str[::-1])
    frame = pd.concat([frame, other]).assign(task=lambda d: np.where(d.Clause == "subj", "a", "b"))
    frame = frame.drop(columns=["Kind", "List", "Clause", "Freq"])
    columns, words, _ = columns_of(tmp_path / "tasks.csv", frame)
    assert "stimulus" not in columns and columns["item"] == ["task", "ItemNum"]
    assert words["item"].nunique() == 12


@pytest.mark.merge
def test_a_reader_s_list_alone_makes_stimuli_and_no_conditions(tmp_path):
    frame = (
        experiment().drop(columns=["Kind", "Clause", "Freq"]).rename(columns={"List": "booklet"})
    )
    columns, words, _ = columns_of(tmp_path / "list.csv", frame)
    assert columns["item"] == ["ItemNum", "booklet"] and columns["stimulus"] == "ItemNum"
    assert "condition" not in columns and words.stimulus.nunique() == 12


@pytest.mark.merge
def test_sentences_of_several_stories_are_no_versions(tmp_path):
    stories = {
        "fox": ["The fox ran to the den.", "It was dark.", "Nobody saw the fox."],
        "owl": ["The owl flew to the old barn over there.", "It was late.", "Nobody heard the owl that night."],
    }  # fmt: skip
    random = np.random.default_rng(2)
    rows = [
        (f"s{reader}", story, number, position, word, 280 + int(random.exponential(90)))
        for reader in range(5)
        for story, texts in stories.items()
        for number, text in enumerate(texts, 1)
        for position, word in enumerate(text.split(), 1)
    ]
    names = ["subject", "story_title", "sentence_nr", "word_nr", "word", "RT"]
    columns, words, _ = columns_of(tmp_path / "stories.csv", pd.DataFrame(rows, columns=names))
    assert "stimulus" not in columns and words.sentence.nunique() == 6
