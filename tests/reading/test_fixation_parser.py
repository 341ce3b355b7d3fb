"""The parser `fixations`: words and reading measures of a table of fixations and areas of interest."""

import zipfile

import numpy as np
import pandas as pd
import pytest

from peers import peer
from readingtimes.contracts import check_responses, check_words
from readingtimes.parsers import fixations
from recency.errors import REFUSALS

TEXTS = {
    "a": ["The", "old", "cat", "sat", "on", "a", "mat", "."],
    "b": ["Dogs", "bark", "at", "night", "."],
}
AREAS = pd.DataFrame(
    [(item, place, word) for item, words in TEXTS.items() for place, word in enumerate(words, 1)],
    columns=["item", "position", "word"],
)
COLUMNS = {"position": "position", "word": "word", "onset": "onset"}


def scanpaths(rng, subjects=4, fixations_of_text=30):
    """Return random fixations of every text by every subject."""
    rows = []
    for subject in range(1, subjects + 1):
        for item, words in TEXTS.items():
            place = np.minimum(
                np.maximum(1, np.cumsum(rng.integers(-2, 4, fixations_of_text)) + 1), len(words)
            )
            for onset, at in enumerate(place):
                ms = float(rng.integers(60, 400))
                rows.append((f"s{subject}", item, onset * 500, at, words[at - 1], ms))
    return pd.DataFrame(rows, columns=["subject", "item", "onset", "position", "word", "duration"])


@pytest.fixture
def files(tmp_path):
    """Return a function that writes fixations and areas, and returns their roles."""

    def write(table, areas=AREAS):
        table.to_csv(tmp_path / "fixations.csv", index=False)
        areas.to_csv(tmp_path / "areas.csv", index=False)
        return {"areas": tmp_path / "areas.csv"}, {"fixations": tmp_path / "fixations.csv"}

    return write


def read(files, table, measure="FP", areas=AREAS, **options):
    """Read words and one measure."""
    of_words, of_responses = files(table, areas)
    options = {"columns": COLUMNS} | options
    words = check_words(fixations.words(of_words, areas={"sentences": "punctuation"}), "areas")
    found = fixations.responses(of_responses, words, measure, **options)
    return words, check_responses(found, words, "fixations")


def test_measures_of_a_scanpath_by_hand(files):
    path = [(1, 100), (2, 200), (2, 50), (4, 120), (3, 80), (4, 60), (5, 90), (1, 70)]
    table = pd.DataFrame(
        [("s", "a", i, at, TEXTS["a"][at - 1], ms) for i, (at, ms) in enumerate(path)],
        columns=["subject", "item", "onset", "position", "word", "duration"],
    )
    expected = {
        "FFD": [100, 200, 0, 120, 90, 0, 0, 0],
        "FP": [100, 250, 0, 120, 90, 0, 0, 0],
        "GP": [100, 250, 0, 260, 160, 0, 0, 0],
        "TFT": [170, 250, 80, 180, 90, 0, 0, 0],
    }
    for measure, times in expected.items():
        _, found = read(files, table, measure)
        assert found.time_ms.tolist() == times, measure
        assert found.word_id.tolist() == list(range(8))
    assert found.previous_fixated.tolist() == [False, True, True, False, True, True, False, False]
    assert found.words_since_fixation.tolist() == [1, 1, 1, 2, 1, 1, 2, 3]


@pytest.mark.parametrize("text", ["subject,item,onset,position,word,duration\n", ""])
def test_a_file_without_a_row_is_refused(files, tmp_path, text):
    _, of_responses = files(scanpaths(np.random.default_rng(1), subjects=1, fixations_of_text=4))
    words = check_words(
        fixations.words({"areas": tmp_path / "areas.csv"}, areas={"sentences": "punctuation"}), "a"
    )
    (tmp_path / "fixations.csv").write_text(text)
    with pytest.raises(REFUSALS, match="fixations.csv"):
        fixations.responses(of_responses, words, "FP", columns=COLUMNS)


def test_an_archive_may_have_a_member_without_a_row(files, tmp_path):
    table = scanpaths(np.random.default_rng(1), subjects=2, fixations_of_text=9)
    _, expected = read(files, table)
    csv = (tmp_path / "fixations.csv").read_text()
    with zipfile.ZipFile(tmp_path / "fixations.zip", "w") as archive:
        archive.writestr("a.csv", csv.splitlines()[0] + "\n")
        archive.writestr("b.csv", csv)
    of_words, _ = files(table)
    words = check_words(fixations.words(of_words, areas={"sentences": "punctuation"}), "areas")
    found = fixations.responses(
        {"fixations": tmp_path / "fixations.zip"}, words, "FP", columns=COLUMNS, members="*.csv"
    )
    pd.testing.assert_frame_equal(check_responses(found, words, "fixations"), expected)


@pytest.mark.parametrize("seed", range(3))
@peer("polars", "pymovements")
def test_measures_equal_those_of_pymovements(files, seed):
    import polars
    from pymovements.measure import reading

    table = scanpaths(np.random.default_rng(seed), subjects=3, fixations_of_text=40)
    for (subject, item), rows in table.groupby(["subject", "item"]):
        theirs = reading.compute_reading_measures(
            polars.DataFrame(
                {
                    "name": ["fixation"] * len(rows),
                    "onset": rows.onset.tolist(),
                    "duration": rows.duration.tolist(),
                    "word_idx": rows.position.tolist(),
                }
            ),
            polars.DataFrame({"word_idx": range(1, len(TEXTS[item]) + 1), "word": TEXTS[item]}),
        ).sort("word_index")
        for ours, name in {"FFD": "FFD", "FP": "FPRT", "GP": "RPD_inc", "TFT": "TFT"}.items():
            words, found = read(files, table, ours)
            of_text = words.word_id[words["item"] == item]
            own = found[(found.subject == subject) & found.word_id.isin(of_text)]
            expected = [value or 0 for value in theirs[name].to_list()]
            assert own.time_ms.tolist() == expected, (subject, item, ours)


def test_words_of_the_fixations_themselves(files):
    table = scanpaths(np.random.default_rng(0), subjects=9)
    _, of_responses = files(table)
    options = {"columns": COLUMNS, "sentences": "punctuation"}
    words = check_words(fixations.words(of_responses, **options), "fixations")
    assert words.word.tolist() == [*TEXTS["a"], *TEXTS["b"]]
    lacking = table[~((table["item"] == "a") & (table.position == 3))]
    _, of_responses = files(lacking)
    with pytest.raises(REFUSALS, match="no word before 4"):
        fixations.words(of_responses, **options)


def test_fixations_by_pixels_are_those_by_number(files):
    areas = AREAS.assign(
        left=AREAS.position * 50, right=AREAS.position * 50 + 50, top=10, bottom=30
    )
    table = scanpaths(np.random.default_rng(1))
    pixels = table.assign(x=table.position * 50 + 25, y=20)
    of_words, of_responses = files(pixels, areas)
    words = fixations.words(of_words, areas={"sentences": "punctuation"})
    _, expected = read(files, pixels, "GP", areas)
    found = fixations.responses(
        of_responses | of_words, words, "GP", columns={"x": "x", "y": "y", "onset": "onset"}
    )
    pd.testing.assert_frame_equal(check_responses(found, words, "pixels"), expected)


@pytest.mark.merge
def test_order_trials_ignored_labels_and_units(files):
    table = scanpaths(np.random.default_rng(2))
    _, expected = read(files, table)
    shuffled = table.sample(frac=1, random_state=1)
    _, found = read(files, shuffled)
    key = ["subject", "word_id"]
    pd.testing.assert_frame_equal(
        found.sort_values(key, ignore_index=True), expected.sort_values(key, ignore_index=True)
    )
    seconds = table.assign(duration=table.duration / 1000)
    _, found = read(files, seconds, unit="s")
    np.testing.assert_allclose(found.time_ms, expected.time_ms)
    button = table.iloc[[0]].assign(position=8, word="NEXT", onset=-1)
    _, found = read(files, pd.concat([button, table]), ignored=["NEXT"])
    pd.testing.assert_frame_equal(found, expected)
    # A text that is looked at again: what its second trial adds is in the total alone.
    again = table.assign(trial=1)
    again = pd.concat([again, again.assign(trial=2)])
    for measure, factor in {"FP": 1, "GP": 1, "TFT": 2}.items():
        _, once = read(files, table, measure)
        _, twice = read(files, again, measure, columns=COLUMNS | {"trial": "trial"})
        assert twice.time_ms.tolist() == (factor * once.time_ms).tolist(), measure


def test_fixations_that_do_not_align_are_refused(files):
    table = scanpaths(np.random.default_rng(3))
    wrong = table.assign(word=table.word.where(table.position != 2, "dog"))
    with pytest.raises(REFUSALS) as error:
        read(files, wrong)
    message = str(error.value)
    assert "text a: word 2 is 'dog', in the text 'old'" in message
    assert "text b: word 2 is 'dog', in the text 'bark'" in message and "\n" not in message
    other = table.assign(item=table["item"].replace("b", "c"))
    with pytest.raises(REFUSALS, match="no text 'c'"):
        read(files, other)
    with pytest.raises(REFUSALS, match="text b has 5 words, and no word 6"):
        read(files, table, columns=COLUMNS | {"word": None}, first=0)
    with pytest.raises(REFUSALS, match="has no column onse"):
        read(files, table, columns=COLUMNS | {"onset": "onse"})
    with pytest.raises(REFUSALS, match="which is no duration"):
        read(files, table.assign(duration=table.duration.mask(table.index == 3)))


def test_blocks_of_a_file_give_what_the_whole_file_gives(files, monkeypatch):
    from readingtimes.formats import streamed

    table = scanpaths(np.random.default_rng(4), subjects=20)
    table = table.assign(part=np.where(table.subject == "s3", "practice", "main"))
    _, expected = read(files, table[table.part == "main"])
    monkeypatch.setattr(streamed, "_BLOCK", 1000)
    _, found = read(files, table, rows={"part": "main"})
    pd.testing.assert_frame_equal(found, expected)
