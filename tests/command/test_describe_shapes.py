"""`recency describe` of tables of labs: shapes that no program writes, and columns that are no times.

Each is the sound table of `test_describe_damage` in another layout: the words and times that the entry reads are
the true ones, or nothing is written and the message names the cause.
"""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from test_describe import described as described_with
from test_describe_damage import NAMES, READERS, STORIES, WHOLE, described, parsed, run_of

from own_corpus import save
from readingtimes.contracts import check_words
from readingtimes.errors import InputError
from readingtimes.parsers import table as parser
from recency.scoring import surprisal_table

LOGS = np.log(WHOLE.rt)
RISING = WHOLE.groupby(["participant", "story"]).rt.cumsum()
SENTENCE = WHOLE.word.str.endswith(".").groupby(
    [WHOLE.participant, WHOLE.story]
).cumsum() - WHOLE.word.str.endswith(".")
IN_SENTENCE = WHOLE.groupby(["participant", "story", SENTENCE]).cumcount()
ONCE = WHOLE[WHOLE.story.eq("mill") == WHOLE.participant.isin(READERS[:6])]
LISTS = ONCE[ONCE.story != "garden"].assign(story=1, list=ONCE.participant.isin(READERS[:6]))
TRIALS = WHOLE.groupby(["participant", "story"], sort=False)
TEXTS = TRIALS.word.agg(" ".join).reset_index(name="text")
NUMBERED = WHOLE.pivot(index=["participant", "story"], columns="word_nr", values=["word", "rt"])
NUMBERED = NUMBERED.set_axis(
    [f"{ {'word': 'W', 'rt': 'RT'}[name] }{n}" for name, n in NUMBERED.columns], axis=1
).reset_index()
MEANS = WHOLE.groupby(["story", "word_nr", "word"]).rt.mean().round(1).reset_index()
MEANS = MEANS.assign(participant="MEAN")
IDS = WHOLE.word_nr + WHOLE.story.map({"mill": 300, "harbour": 0, "garden": 100})
LEFT = np.random.default_rng(8).random(len(WHOLE)) < 0.5
OTHER = WHOLE.word.sample(frac=1, random_state=1).to_numpy()
MAZE = WHOLE.assign(
    left_word=np.where(LEFT, WHOLE.word, OTHER), right_word=np.where(LEFT, OTHER, WHOLE.word),
    correct_key=np.where(LEFT, "f", "j"),
).drop(columns="word")  # fmt: skip


def with_rows(kind, name, story, word_nr, word):
    """Return the table with a row of another kind at the beginning of each trial."""
    first = WHOLE[WHOLE.word_nr == 1].assign(
        story=story or WHOLE.story, word_nr=word_nr, word=word, rt=1200
    )
    rows = pd.concat([WHOLE.assign(**{name: "main"}), first.assign(**{name: kind})])
    return rows.sort_index(kind="stable")


def screens(markup):
    """Return a file of jsPsych that has the words in markup only, behind a cross before each text."""
    cross = WHOLE[WHOLE.word_nr == 1].assign(stimulus="<div>+</div>", word_nr="", story="")
    shown = [markup(row, STORIES[row.story].split()) for row in WHOLE.itertuples()]
    rows = pd.concat([cross, WHOLE.assign(stimulus=shown)]).sort_index(kind="stable")
    rows = rows.assign(trial_type="html-keyboard-response", trial_index=range(len(rows)))
    return rows.drop(columns="word")


RIGHT = {
    "ids across the file": WHOLE.assign(word_nr=IDS).rename(columns={"word_nr": "word_id"}),
    "a column a word's time, and the text": NUMBERED.filter(regex="^(?!W)").merge(TEXTS),
    "a column a word, and its time": NUMBERED,
    "lists in cells": TEXTS.assign(
        rts=TRIALS.rt.agg(lambda of: ";".join(map(str, of))).to_numpy(), text=TEXTS.text.str.replace(" ", "|")
    ),
    "questions between words": with_rows("question", "type", None, "", "Was it old?"),
    "practice in a column": with_rows("practice", "phase", "p1", 1, "Practice."),
    "words in markup": screens(lambda row, text: f'<p class="stim">{row.word}</p>'),
    "masked words": screens(
        lambda row, text: " ".join(w if n == row.word_nr else "_" * len(w) for n, w in enumerate(text, 1))
    ),
    "both words of a maze": MAZE,
    "words called stim": WHOLE.rename(columns={"word": "stim"}),
    "names in Spanish": WHOLE.set_axis(
        ["participante", "texto", "posición", "palabra", "tiempo_lectura"], axis=1
    ),
    "names in Chinese": WHOLE.set_axis(["被试", "文章", "词序", "词", "反应时"], axis=1),
    "residuals and logarithms of the times": WHOLE.assign(resid_rt=WHOLE.rt - 150, log_rt=LOGS),
    "times of the words before and after": WHOLE.assign(
        rt_prev=WHOLE.rt.shift(1), rt_next=WHOLE.rt.shift(-1)
    )[["participant", "story", "word_nr", "word", "rt_prev", "rt_next", "rt"]],
    "readers in ID, counts from 0": WHOLE.assign(
        sentence=SENTENCE, word_nr=IN_SENTENCE, story=WHOLE.story.map({"mill": 0, "harbour": 1, "garden": 2})
    ).rename(columns={"participant": "ID"})[["ID", "story", "sentence", "word_nr", "word", "rt"]],
    "names in German": WHOLE.rename(
        columns={
            "participant": "Vpn", "story": "Text", "word_nr": "Nr", "word": "Wort", "rt": "Lesezeit",
        }
    ),
    "items used again in the other list": LISTS.assign(list=LISTS.list.map({True: "A", False: "B"})),
}  # fmt: skip
WRONG = {
    "speeds called rt": (WHOLE.assign(rt=(1000 / WHOLE.rt).round(4)), "are they speeds"),
    "residuals above 0": (WHOLE.assign(rt=(WHOLE.rt - WHOLE.rt.mean()).abs().round(1)), "residuals|no reading time"),
    "a time lost in a list": (NUMBERED.filter(regex="^(?!W)").merge(TEXTS.assign(text=TEXTS.text.mask(TEXTS.index == 5, TEXTS.text.str[:-14]))), r"line 5: RT has \d+ times, and text"),
    "both words, and no side": (MAZE.drop(columns="correct_key"), "which is correct is not clear"),
    "logarithms alone": (WHOLE.assign(rt=LOGS).rename(columns={"rt": "log_rt"}), "log_rt is named like a time"),
    "logarithms called rt": (WHOLE.assign(rt=np.log10(WHOLE.rt)), "are they logarithms"),
    "microseconds": (WHOLE.assign(rt=1000 * WHOLE.rt), "no microseconds"),
    "units in cells": (WHOLE.assign(rt=WHOLE.rt.astype(str) + " ms"), r"rt is named like a time.* ms, are no"),
    "words lost, n": (WHOLE[WHOLE.word_nr != 5].rename(columns={"word_nr": "n"}), "no word before 6"),
    "clock times": (WHOLE.assign(rt=RISING), "are they clock times"),
    "one reader in tenths of ms": (WHOLE.assign(rt=WHOLE.rt.mask(WHOLE.participant == "p03", 10 * WHOLE.rt)), "1 subjects have times of another size: p03"),
    "zeros before half of the numbers": (WHOLE.assign(participant=WHOLE.participant.where(WHOLE.index % 2 == 0, WHOLE.participant.str.replace("p0", "p"))), "in two ways: 'p01' and 'p1'"),
    "ticks": (WHOLE.assign(rt=WHOLE.rt // 16), "rt is named like a time, but its values, such as 21, are no"),
    "a reader of means": (pd.concat([WHOLE, MEANS]), "'MEAN' are the means of the other subjects"),
    "cells merged": (WHOLE.mask(WHOLE.eq(WHOLE.shift()) & WHOLE.columns.isin(NAMES[:2])), "1,764 of 1,776 cells are empty .merged"),
    "words 10 to 14 alone": (WHOLE[WHOLE.word_nr.between(10, 14)], "word_nr looks like positions, but begins at 10"),
    "measures below each other": (pd.concat([WHOLE.assign(measure=m) for m in ("FFD", "TFT")]).rename(columns={"rt": "value"}), r"rows: {measure: \[FFD\]}"),
    "first words lost, n": (WHOLE[WHOLE.word_nr > 1].rename(columns={"word_nr": "n"}), "no word before 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_words_and_times_are_the_true_ones(tmp_path, name):
    frame = RIGHT[name]
    frame.to_csv(tmp_path / "mine.csv", index=False)
    status, out, err = described(tmp_path / "mine.csv")
    assert status == 0, err
    words, times = parsed(out)
    whole = {tuple(text.split()) for text in STORIES.values()}
    seen = {tuple(of) for of in words.groupby("item").word.agg(list)}
    assert seen <= whole and len(seen) == (2 if "items" in name else 3)
    text = {tuple(of.split()): story for story, of in STORIES.items()}
    story = {i: text[tuple(of)] for i, of in words.groupby("item").word.agg(list).items()}
    place = words.groupby("item").cumcount() + 1
    lookup = WHOLE.set_index(["participant", "story", "word_nr"]).rt
    assert len(times) == (len(frame) if "items" in name else len(WHOLE))
    at = [
        (subject, story[words["item"].iloc[word]], place.iloc[word])
        for subject, word in zip(times.subject, times.word_id, strict=True)
    ]
    assert times.time_ms.tolist() == lookup.loc[at].tolist()


@pytest.mark.merge
@pytest.mark.parametrize("name", WRONG)
def test_the_cause_is_named(tmp_path, name):
    frame, message = WRONG[name]
    frame.to_csv(tmp_path / "mine.csv", index=False)
    status, out, err = described(tmp_path / "mine.csv")
    assert status == 2 and yaml.safe_load(out or "#") is None
    assert re.search(message, err), err


PLAIN = WHOLE.to_csv(index=False)
LINES = PLAIN.splitlines()
#: name → (content of a file, what the message says; None: the true words and times)
FILES = {
    "comments above": ("# made by a program\n# 12 readers, of 3\n" + PLAIN, None),
    "aligned by spaces": (WHOLE.to_string(index=False), None),
    "tildes": (WHOLE.to_csv(index=False, sep="~"), None),
    "Markdown": ("\n".join(["|" + "|".join(NAMES) + "|", "|:-|" + " -: |" * 4, *(f"| {' | '.join(map(str, row))} |" for row in WHOLE.to_numpy())]), None),
    "a database's shell": ("\n".join([" | ".join(NAMES), "+".join(["---"] * 5), *(" | ".join(map(str, row)) for row in WHOLE.to_numpy()), "(1776 rows)"]), None),
    "spaces before quotes": ("\n".join('"' + '", "'.join(row.split(",")) + '"' for row in WHOLE.assign(word=WHOLE.word.str.replace(",", ";")).to_csv(index=False).splitlines()) + "\n", None),
    "columns of JSON": (WHOLE.to_json(), None),
    "columns and rows of JSON": (WHOLE.to_json(orient="split"), None),
    "lists of JSON": (json.dumps(WHOLE.to_dict("list")), None),
    "a title above": ("Experiment 1: reading\nJune,,,,\n" + PLAIN, "line 1 does not name the 5 columns, line 3 does"),
    "two headers": (",,,,rt\n" + PLAIN, "line 1 does not name the 5 columns, line 2 does"),
    "the header again, in another order": (PLAIN + WHOLE[NAMES[::-1]].head(9).to_csv(index=False), "line 1778: the header again"),
    "a name twice": (PLAIN.replace("word_nr", "rt", 1), "give each column a name of its own"),
    "a pickle": (pickle.dumps(WHOLE), "is a pickle of Python"),
    "SQLite": (b"SQLite format 3\0" + bytes(84), "is a database of SQLite"),
}  # fmt: skip


@pytest.mark.merge
@pytest.mark.parametrize("name", FILES)
def test_layouts_of_files_are_read_or_named(tmp_path, name):
    content, message = FILES[name]
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "mine.csv").write_bytes(content)
    status, out, err = described(tmp_path / "mine.csv")
    if message is not None:
        assert status == 2 and re.search(message, err), err
        return
    assert status == 0, err
    words, times = parsed(out)
    read = zip(times.subject, words.word.iloc[times.word_id], times.time_ms, strict=True)
    word = WHOLE.word.str.replace(",", ";") if "quotes" in name else WHOLE.word
    assert sorted(read) == sorted(zip(WHOLE.participant, word, WHOLE.rt, strict=True))
    assert words.groupby("item", sort=False).size().tolist() == [
        len(STORIES[story].split()) for story in words["item"].unique()
    ]


def test_a_title_above_the_header_of_a_workbook_is_named(tmp_path):
    WHOLE.to_excel(tmp_path / "mine.xlsx", index=False, startrow=3)
    _, _, err = described(tmp_path / "mine.xlsx")
    assert "line 1 does not name the 5 columns, line 4 does" in err
    with pd.ExcelWriter(tmp_path / "mine.xlsx") as book:
        pd.DataFrame({"notes": ["12 readers"]}).to_excel(book, sheet_name="info", index=False)
        WHOLE.to_excel(book, sheet_name="data", index=False)
    _, _, err = described(tmp_path / "mine.xlsx")
    assert "the first sheet alone is read, not data" in err


def test_times_of_0_and_words_of_punctuation_are_noted(tmp_path):
    odd = WHOLE.assign(
        rt=WHOLE.rt.where(WHOLE.index % 90 > 0, 0),
        word=WHOLE.word.where(WHOLE.word_nr % 12 > 0, "--"),
    )
    status, out, err = described_with(save(odd, tmp_path / "a.csv"))
    assert status == 0, err
    assert "20 times of Maze are 0" in out and "of the words are punctuation alone" in out


@pytest.mark.merge
def test_a_clock_of_fixations_is_no_measure(tmp_path):
    report = WHOLE.assign(
        IA_FIRST_FIXATION_DURATION=WHOLE.rt - 40,
        IA_DWELL_TIME=WHOLE.rt + 60,
        IA_FIRST_FIXATION_TIME=RISING,
    )
    report.drop(columns="rt").to_csv(tmp_path / "mine.csv", index=False)
    status, out, err = described(tmp_path / "mine.csv")
    assert status == 0, err
    (entry,) = yaml.safe_load(out)["datasets"].values()
    assert sorted(entry["measures"]) == ["FFD", "TFT"]


def test_rows_of_tokens_without_marks_are_summed(tmp_path):
    words = WHOLE[WHOLE.participant == READERS[0]][["story", "word_nr", "word"]]
    half = 0.5 + np.random.default_rng(2).gamma(4, 0.4, len(words)).round(4)
    rows = [
        (*row[:2], piece, value)  # both halves have one value, and are no repeats
        for row, value in zip(words.itertuples(index=False), half, strict=True)
        for piece in (f" {row[2][:1]}", row[2][1:])
        if piece
    ]
    names = ["story", "word_nr", "token", "surprisal_bits"]
    pd.DataFrame(rows, columns=names).to_csv(tmp_path / "lm.csv", index=False)
    words.to_csv(tmp_path / "words.csv", index=False)
    mapped = {"item": "story", "position": "word_nr"}
    texts = parser.words(
        {"table": tmp_path / "words.csv"}, measures=(), columns=mapped, sentences="punctuation"
    )
    texts = check_words(texts, "words")
    status, out, err = described(tmp_path / "lm.csv")
    assert status == 0, err
    (entry,) = yaml.safe_load(out)["lms"].values()
    columns = entry["surprisals"]["columns"]
    assert columns["token"] == "token" and "word" not in columns
    with pytest.raises(InputError, match="each may stand once"):  # as words they are refused
        wrong = {n: c for n, c in columns.items() if n != "token"} | {"word": "token"}
        surprisal_table.score(texts, tmp_path / "lm.csv", columns=wrong, unit="bits")
    scored = surprisal_table.score(texts, tmp_path / "lm.csv", columns=columns, unit="bits")
    lengths = texts.word.str.len().to_numpy()
    expected = np.where(lengths > 1, 2, 1) * half
    np.testing.assert_allclose(scored.table.surprisal_bits, expected)


@pytest.mark.merge
def test_what_speaks_against_another_measure_is_named(tmp_path):
    eyes = WHOLE.rename(columns={"rt": "gaze"}).assign(go_past=WHOLE.rt + 30 + WHOLE.index % 5)
    assert described(save(eyes, tmp_path / "a.csv"))[0] == 0
    later = eyes.groupby(["participant", "story"]).go_past.shift(-1).fillna(300)
    status, _, err = described(
        save(eyes.assign(go_past=later.clip(lower=eyes.gaze)), tmp_path / "a.csv")
    )
    assert status == 2 and "GP: " in err
    seconds = eyes.go_past.where(eyes.participant != "p03", eyes.go_past * 40)
    status, _, err = described(save(eyes.assign(go_past=seconds), tmp_path / "a.csv"))
    assert status == 2 and "GP: " in err and "p03" in err


def test_ids_that_times_and_words_share_are_keys(tmp_path):
    ids = WHOLE.word_nr + WHOLE.story.map({"mill": 700, "harbour": 200, "garden": 900})
    words = WHOLE.assign(number=ids)[WHOLE.participant == "p01"]
    save(words[["number", "story", "word_nr", "word"]], tmp_path / "words.csv")
    times = WHOLE.assign(item=ids)[["participant", "item", "rt"]].sample(frac=1, random_state=2)
    asked = save(times, tmp_path / "times.csv"), "--words", tmp_path / "words.csv"
    status, out, err = described_with(*asked)
    assert status == 0, err
    (entry,) = yaml.safe_load(out)["datasets"].values()
    mapped = {"columns": entry["options"]["columns"]}
    files = {"table": tmp_path / "words.csv"}
    read = check_words(parser.words(files, sentences="punctuation", **mapped), "words")
    (measure,) = entry["measures"]
    given = parser.responses({"table": tmp_path / "times.csv"}, read, measure, **mapped)
    found = zip(given.subject, read.word.iloc[given.word_id], given.time_ms, strict=True)
    assert sorted(found) == sorted(zip(WHOLE.participant, WHOLE.word, WHOLE.rt, strict=True))


@pytest.mark.merge
def test_surprisals_with_decimal_commas_are_read(tmp_path):
    words = WHOLE[WHOLE.participant == READERS[0]][["story", "word_nr", "word"]]
    bits = np.random.default_rng(2).gamma(4, 2, len(words)).round(4)
    save(words, tmp_path / "words.csv")
    words.assign(bits=bits).to_csv(tmp_path / "lm.csv", index=False, sep=";", decimal=",")
    asked = tmp_path / "lm.csv", "--words", tmp_path / "words.csv"
    status, out, err = described_with(*asked)
    assert status == 0, err
    (entry,) = yaml.safe_load(out)["lms"].values()
    mapped = {"item": "story", "position": "word_nr"}
    texts = parser.words({"table": tmp_path / "words.csv"}, columns=mapped, sentences="punctuation")
    columns = entry["surprisals"]["columns"]
    scored = surprisal_table.score(
        check_words(texts, "words"), tmp_path / "lm.csv", columns=columns
    )
    np.testing.assert_array_equal(np.sort(scored.table.surprisal_bits), np.sort(bits))
    runs = np.where(np.arange(len(bits)) // 40 == 1, 7.5, bits)  # 40 words with one value
    words.assign(mine=bits, other=runs).to_csv(tmp_path / "lm.csv", index=False)
    status, out, err = described_with(*asked)
    assert status == 0 and list(yaml.safe_load(out)["lms"]) == ["mine"], err
    assert re.search(r"# left out: other on lm.csv: .*7\.5.* lms_from", out)
    words.assign(mine=runs, other=runs).to_csv(tmp_path / "lm.csv", index=False)
    assert described_with(*asked)[0] == 2


def test_a_word_that_may_be_a_lost_one_is_noted(tmp_path):
    save(WHOLE.assign(word=WHOLE.word.mask(WHOLE.word_nr == 5, "NA")), tmp_path / "a.csv")
    status, out, err = described_with(tmp_path / "a.csv")
    assert status == 0 and "# NA stands as a word 3 times: was a word lost there?" in out, err


@pytest.mark.merge
def test_texts_that_end_within_a_sentence_are_noted(tmp_path):
    for lost, what in (("max", "end within a sentence"), ("min", "begin with a small letter")):
        cut = WHOLE[WHOLE.word_nr != TRIALS.word_nr.transform(lost)]
        cut = cut.assign(word_nr=cut.word_nr - (lost == "min"))
        status, out, err = described_with(save(cut, tmp_path / "a.csv"))
        assert status == 0, err
        assert f"# 3 of 3 texts {what}, such as " in out


@pytest.mark.merge
@pytest.mark.parametrize(("words", "status"), [(1, 0), (3, 2)])
def test_a_text_in_another_unit_has_more_than_a_word(tmp_path, words, status):
    """A caption that most readers skip has no unit of its own; three words of twelve readers have."""
    caption = WHOLE[WHOLE.word_nr <= words].drop_duplicates(["participant", "word_nr"])
    caption = caption.assign(story="caption", word="Figure", rt=40 + caption.word_nr)
    pd.concat([WHOLE, caption]).to_csv(tmp_path / "mine.csv", index=False)
    found, _, err = described(tmp_path / "mine.csv")
    assert found == status and ("another unit" in err) == (status == 2), err


def test_a_key_that_was_held_is_noted_where_the_filter_leaves_its_times_out(tmp_path):
    """Repetitions of a key in the published self-paced reading of Natural Stories take 33 ms each."""
    table = run_of(WHOLE, 40)
    table["rt"] = table.rt.mask(table.rt == 402, 33)
    table.to_csv(tmp_path / "mine.csv", index=False)
    status, out, err = described(tmp_path / "mine.csv")
    assert status == 0, err
    assert "subject p04 has 33 40 times in a row" in out and "100 < time_ms" in out
