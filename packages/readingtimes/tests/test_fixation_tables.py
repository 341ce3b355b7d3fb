"""Fixation tables (contract 4): from parsers, from first-pass times, and their rule."""

import gzip

import numpy as np
import pandas as pd
import pytest

import readingtimes
from parsing import responses_of, words_of, write
from readingtimes import fixations, parsers
from readingtimes.contracts import check_fixations, word_table
from readingtimes.errors import InputError

WORDS = word_table(["a"] * 3 + ["b"] * 2, [1, 1, 1, 2, 2], ["The", "old", "man.", "He", "sat."])


def table(*rows):
    """Fixations (subject, item, order, word_id, onset, duration)."""
    names = ["subject", "item", "order", "word_id", "onset_ms", "duration_ms"]
    return pd.DataFrame(rows, columns=names)


def test_fixations_are_sorted_by_reading_and_order():
    frame = table(("s", "b", 1, 4, 0, 90), ("s", "a", 2, 0, 200, 80), ("s", "a", 1, 2, 0, 200))
    checked = check_fixations(frame, WORDS, "mine")
    assert checked.word_id.tolist() == [2, 0, 4]
    assert list(checked.dtypes.astype(str)) == ["str", "str", "int32", "int32"] + ["float64"] * 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("s", "a", 2, 9, 200, 80), r"word_id 9\) is on no word of the texts \(1 such"),
        (("s", "a", 2, 4, 200, 80), "on a word of another item"),
        (("s", "a", 1, 0, 200, 80), "fixation 1 of subject s in text a .* repeats the order"),
        (("s", "a", 2, 0, float("nan"), 80), "no onset or duration"),
        (("s", "a", 2, 0, -1.0, 80), "begins before the one before it"),
    ],
)
def test_fixations_out_of_contract_are_refused_with_counts(row, message):
    with pytest.raises(InputError, match=message):
        check_fixations(table(("s", "a", 1, 2, 0, 200), row), WORDS, "mine")


def test_words_with_first_pass_times_are_taken_in_reading_order():
    frame = pd.DataFrame({"subject": "s", "word_id": [2, 0, 1, 3, 4], "time_ms": [9, 8, 0, 7, 0.0]})
    assumed = check_fixations(fixations.assume_reading_order(frame, WORDS), WORDS, "mine")
    assert assumed[["item", "order", "word_id", "onset_ms"]].to_numpy().tolist() == [
        ["a", 1, 0, 0.0], ["a", 2, 2, 8.0], ["b", 1, 3, 0.0],
    ]  # fmt: skip


UCL = """subj_nr\tsent_nr\tgaze_x\tgaze_y\tfix_duration\tletter_pos\tword_pos\tword\tblink
1\t1\t10\t380\t200\t1\t1\tThe\t-
1\t1\t90\t380\t30\t30\tNaN\t-\t-
1\t1\t50\t380\t{time}\t9\t{place}\t{word}\t-
"""


def test_ucls_fixations(tmp_path, capsys):
    stimuli = write(tmp_path / "stimuli.txt", "sent_nr\tsentence\n1\tThe old man.\n")
    words = words_of("ucl_eye_tracking", {"stimuli": stimuli})
    parser = parsers.parser("ucl_eye_tracking")

    def read(**values):
        path = write(tmp_path / "fix.txt", UCL.format(**values))
        return check_fixations(parser.read_fixations({"fixations": path}, words), words, "ucl")

    frame = read(time=150, place=3, word="man.")
    assert frame.word_id.tolist() == [0, 2]
    assert frame.onset_ms.tolist() == [0, 200]
    assert "1 of 3 fixations are on no word" in capsys.readouterr().err
    with pytest.raises(
        InputError, match=r"line 4: word 2 of sentence 1 is 'man\.'; there is 'old'"
    ):
        read(time=150, place=2, word="man.")


def test_fixations_of_any_table_with_trials(tmp_path):
    rows = [("s", "a", 1, 0, 1, 70), ("s", "a", 1, 5, 3, 60), ("s", "a", 2, 9, 2, 50)]
    rows += [("t", "a", 1, 3, 2, 40)]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    path = write(tmp_path / "fix.csv", "who,text,trial,start,word,ms\n" + text)
    columns = {"subject": "who", "item": "text", "trial": "trial", "onset": "start"}
    columns |= {"position": "word", "duration": "ms"}
    parser = parsers.parser("fixations")
    frame = parser.read_fixations({"fixations": path}, WORDS, columns=columns)
    frame = check_fixations(frame, WORDS, "mine")
    assert frame.word_id.tolist() == [0, 2, 1]  # the first trial only
    assert frame.onset_ms.tolist() == [0, 5, 3]


def _unpacked(source, folder):
    path = folder / source.stem
    path.write_bytes(gzip.decompress(source.read_bytes()))
    return path


def test_real_fixations_give_the_published_measures(mirror, tmp_path):
    (folder,) = mirror.glob(
        "raw.githubusercontent.com/Data-X01/PsychLing-101/*/frank2013_reading/*"
    )
    names = ("stimuli.txt", "eyetracking.RT.txt", "eyetracking.fix.txt")
    stimuli, times, fixated = (_unpacked(folder / f"{name}.gz", tmp_path) for name in names)
    words = words_of("ucl_eye_tracking", {"stimuli": stimuli})
    frame = parsers.parser("ucl_eye_tracking").read_fixations({"fixations": fixated}, words)
    frame = check_fixations(frame, words, "ucl")
    assert len(frame) == 94_736
    for measure, least in {"FFD": 1.0, "FP": 0.998, "GP": 0.991}.items():
        responses = responses_of("ucl_eye_tracking", {"times": times}, words, measure)
        share, count = fixations.agreement(frame, words, responses, measure)
        assert share >= least
        assert count == 80_962


def test_real_fixations_of_passages(shared_data, tmp_path):
    words, frame = readingtimes.load_fixations("provo", mirrors=[shared_data], cache=tmp_path)
    assert (len(words), len(frame), frame.subject.nunique()) == (2743, 219_556, 84)
    regressions = np.diff(frame.word_id) < 0
    same = (frame["item"] == frame["item"].shift()).to_numpy()[1:]
    assert (regressions & same).mean() == pytest.approx(0.145, abs=0.001)
