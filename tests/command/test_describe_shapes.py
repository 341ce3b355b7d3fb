"""`recency describe` of tables of labs: shapes that no program writes, and columns that are no times.

Each is the sound table of `test_describe_damage` in another layout: the words and times that the entry reads are
the true ones, or nothing is written and the message names the cause.
"""

import re

import numpy as np
import pandas as pd
import pytest
import yaml
from test_describe_damage import READERS, STORIES, WHOLE, described, parsed

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

RIGHT = {
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
    "logarithms alone": (WHOLE.assign(rt=LOGS).rename(columns={"rt": "log_rt"}), "log_rt is named like a time"),
    "logarithms called rt": (WHOLE.assign(rt=np.log10(WHOLE.rt)), "are they logarithms"),
    "units in cells": (WHOLE.assign(rt=WHOLE.rt.astype(str) + " ms"), r"rt is named like a time.* ms, are no"),
    "words lost, n": (WHOLE[WHOLE.word_nr != 5].rename(columns={"word_nr": "n"}), "no word before 6"),
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
    assert len(times) == len(frame)
    at = [
        (subject, story[words["item"].iloc[word]], place.iloc[word])
        for subject, word in zip(times.subject, times.word_id, strict=True)
    ]
    assert times.time_ms.tolist() == lookup.loc[at].tolist()


@pytest.mark.parametrize("name", WRONG)
def test_the_cause_is_named(tmp_path, name):
    frame, message = WRONG[name]
    frame.to_csv(tmp_path / "mine.csv", index=False)
    status, out, err = described(tmp_path / "mine.csv")
    assert status == 2 and yaml.safe_load(out or "#") is None
    assert re.search(message, err), err


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
