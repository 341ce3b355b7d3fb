"""Datasets whose analysis would mean nothing are refused, each check by its name."""

import numpy as np
import pandas as pd
import pytest

from made_corpus import WORDS, times
from readingtimes import gate
from readingtimes.contracts import check_words, word_table
from readingtimes.gate import findings, require_usable
from recency import overrides
from recency.errors import REFUSALS
from recency.reading import observations

RIGHT = times(skips=False)


def single_words():
    """Return a table of words in which each cell, a sentence, was read as a text."""
    words = word_table([str(n) for n in range(60)], range(60), ["Nobody", "knew", "why."] * 20)
    draw = np.random.default_rng(1)
    rows = [(str(s), n, draw.lognormal(5.7, 0.3)) for s in range(5) for n in range(60)]
    return words, pd.DataFrame(rows, columns=["subject", "word_id", "time_ms"])


def clock_times(frame):
    item = frame.word_id.map(WORDS.set_index("word_id")["item"])
    return frame.assign(time_ms=frame.groupby(["subject", item]).time_ms.cumsum() / 10)


def relabelled(frame, **names):
    return frame.assign(subject=frame.subject.replace(names))


def copied(frame):
    """Have one reader's text stand under another reader's name as well."""
    item = frame.word_id.map(WORDS.set_index("word_id")["item"])
    copy = frame[(frame.subject == "03") & (item == "02")].assign(subject="99")
    return pd.concat([frame, copy], ignore_index=True)


def with_means(frame, pause=0):
    """Have a reader whose times are the others' means, and one who leaves for a while now and then."""
    frame = frame.assign(time_ms=frame.time_ms.where(frame.index % 997 > 0, frame.time_ms + pause))
    mean = frame.groupby("word_id", as_index=False).time_ms.mean().round().assign(subject="mean")
    return pd.concat([frame, mean], ignore_index=True)


DAMAGE = {
    "means": ("duplicates", with_means, "'mean' are the means of the other subjects"),
    "means and pauses": ("duplicates", lambda f: with_means(f, 3.6e6), "'mean' are the means"),
    "seconds": ("units", lambda f: f.assign(time_ms=f.time_ms / 1000), "0.2.*are they seconds"),
    "logarithms": ("units", lambda f: f.assign(time_ms=np.log(f.time_ms)), "logarithms of ms"),
    "frames": ("units", lambda f: f.assign(time_ms=f.time_ms / 16.7), "ticks or 10 ms"),
    "microseconds": ("units", lambda f: f.assign(time_ms=f.time_ms * 1000), "microseconds"),
    "timestamps": ("units", lambda f: f.assign(time_ms=f.time_ms + 1.7e12), "Unix timestamps"),
    "zeros": ("units", lambda f: f.assign(time_ms=0.0), "no time is above 0"),
    "clock": ("units", clock_times, r"grow from word to word in 100% of 5,\d+ steps"),
    "numbers": ("duplicates", lambda f: relabelled(f, **{"02": "3.0"}), "'03' and '3.0'"),
    "case": ("duplicates", lambda f: relabelled(f, **{"02": "p1", "03": "P1 "}), "'P1 ' and 'p1'"),
    "copies": ("duplicates", copied, "subjects '03' and '99' have the same .* 108 words of text '02'"),
}  # fmt: skip


@pytest.mark.parametrize(("check", "damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_times_are_refused_by_name(check, damage, message, capsys):
    frame = damage(RIGHT)
    with pytest.raises(REFUSALS, match=rf"^mine\.SPR: .*{message}") as caught:
        require_usable(WORDS, frame, "mine.SPR")
    assert str(caught.value).endswith(
        f"or, if this is intended, set `accept: [{check}]` under datasets → mine"
    )
    assert [f.check for f in findings(WORDS, frame)] == [check]
    require_usable(WORDS, frame, "mine.SPR", accept=[check, "shifted"])
    assert f"The config permits this (accept: [{check}])" in capsys.readouterr().err


@pytest.mark.parametrize("skips", [True, False])
def test_right_times_pass(skips, capsys):
    require_usable(WORDS, times(skips=skips), "mine.SPR")
    assert findings(WORDS, times(skips=skips)) == []
    assert capsys.readouterr().err == ""


def test_a_pause_of_hours_makes_nobody_a_reader_of_means():
    """With a standard deviation of hours, everybody is near the others' mean by it."""
    frame = RIGHT.copy()
    frame.loc[len(frame) // 2, "time_ms"] = 1e9
    assert findings(WORDS, frame) == []


def test_texts_of_one_word_are_refused():
    words, frame = single_words()
    with pytest.raises(REFUSALS, match=r"100% of the 60 texts .* a single word.*\[no_context\]"):
        require_usable(words, frame, "mine.SPR")
    require_usable(words, frame, "mine.SPR", accept=["no_context"])
    together = words.assign(item="a")
    require_usable(together, frame, "mine.SPR")


def test_amplitudes_have_no_unit_of_time():
    amplitudes = RIGHT.rename(columns={"time_ms": "amplitude_uv"})
    require_usable(
        WORDS, amplitudes.assign(amplitude_uv=amplitudes.amplitude_uv / 1e3), "mine.N400"
    )


def test_labels_that_are_no_numbers_are_several_readers():
    names = {"02": "1_2", "03": "12", "04": "1e1", "05": "10"}
    assert gate.duplicates(WORDS, relabelled(RIGHT, **names)) == ""


def test_no_observations_are_written_of_refused_times(tmp_path):
    files = [tmp_path / "words.parquet", tmp_path / "responses.parquet"]
    WORDS.to_parquet(files[0])
    RIGHT.assign(time_ms=RIGHT.time_ms / 1000).to_parquet(files[1])
    out = {"out_fit": tmp_path / "fit.parquet", "out_counts": tmp_path / "counts.csv"}
    with pytest.raises(REFUSALS, match=r"mine\.SPR: the median time .*\[units\]"):
        observations.main(*files, [], **out, response="mine.SPR")
    assert not any(path.exists() for path in out.values())
    observations.main(*files, [], **out, response="mine.SPR", accept=["units"])


def test_words_that_are_python_bytes_are_refused():
    frame = WORDS.assign(word=[f"b'{word}'" for word in WORDS.word])
    with pytest.raises(REFUSALS, match=r"parser table: .* Python bytes, such as \"b'.*decode"):
        check_words(frame, "parser table")
    one = WORDS.assign(word=WORDS.word.where(WORDS.word_id != 3, "b'x'"))
    check_words(one, "parser table")


def test_the_checks_are_those_that_the_config_may_accept():
    assert {*gate.CHECKS, "shifted", "language"} == set(overrides.OF_DATASET)
