"""`recency describe` of damaged tables: the true words and times, or a message that names the damage.

A table of 12 readers and three texts, damaged in one way each. Nothing is stated: `describe` alone decides.
"""

import contextlib
import io
import re

import numpy as np
import pandas as pd
import pytest
import yaml

from readingtimes.contracts import check_responses, check_words
from readingtimes.own.begin import OF_BOTH
from readingtimes.parsers import table as parser
from recency.command.main import main

STORIES = {
    "mill": "The old mill stood by the river for years. Nobody knew who had built it. Its wheel "
    "had long since rotted away, and swallows nested under the roof. Children came there in June "
    "to swim. One of them, a girl called Ida, found a key between two stones. She kept it. ",
    "harbour": "Each morning the boats left before dawn. Their lamps were seen from the hill until "
    "the fog took them. Some captains sang; others only watched the water. When the last one had "
    "gone, the gulls came down to the quay. A clerk counted the crates twice. He was never wrong. ",
    "garden": "My aunt grew beans along the wall. In the evenings she talked to them, quietly, as if "
    "they were guests. The neighbours laughed at first. Later they asked for seeds. By autumn every "
    "yard had beans, and people were heard talking after dark. Nobody laughed any more. ",
}
READERS = [f"p{n:02d}" for n in range(1, 13)]
NAMES = ["participant", "story", "word_nr", "word", "rt"]


def whole():
    """Return the sound table."""
    draw = np.random.default_rng(5)
    rows = [
        (reader, story, n, word, int(260 + 8 * len(word) + slow * 6 + draw.gamma(4, 25)))
        for slow, reader in enumerate(READERS)
        for story, text in STORIES.items()
        for n, word in enumerate(text.split(), 1)
    ]
    return pd.DataFrame(rows, columns=NAMES)


WHOLE = whole()


def cells(column, value, *rows):
    """Return the table as text with another value in some rows."""
    frame = WHOLE.astype("object")
    frame.loc[list(rows), column] = value
    return frame


def slow(frame):
    """Return a table with some times above a second, as text."""
    frame = frame.astype("object").astype({"rt": int})
    frame.loc[[7, 300, 901], "rt"] = [1012, 1250, 2004]
    return frame


def grouped(mark):
    """Return a table whose times of a second and more have a mark between the thousands."""
    frame = slow(WHOLE)
    return frame.assign(rt=[f"{value:,}".replace(",", mark) for value in frame.rt])


def by_reader(change, *readers):
    """Return the table with the times of some readers changed."""
    frame = WHOLE.astype({"rt": float})
    chosen = frame.participant.isin(readers)
    frame.loc[chosen, "rt"] = change(frame.loc[chosen, "rt"]).to_numpy()
    return frame


def twice_the(frame):
    """Return the table with a further row of a word that every reader has."""
    again = frame[(frame.story == "mill") & (frame.word_nr == 5)]
    return pd.concat([frame, again]).sort_index(kind="stable")


def run_of(frame, length):
    """Return the table with a run of the same time of one reader."""
    frame = frame.copy()
    start = int(np.flatnonzero(frame.participant == "p04")[10])
    frame.loc[start : start + length - 1, "rt"] = 402
    return frame


def without(*columns):
    return WHOLE.drop(columns=list(columns))


#: name → (table, what the message says; None: the true words and times)
DAMAGES = {
    "none": (WHOLE, None),
    "shuffled rows": (WHOLE.sample(frac=1, random_state=2), None),
    "sorted by word": (WHOLE.sort_values("word", kind="stable"), None),
    "by story, then reader": (WHOLE.sort_values(["story", "participant"], kind="stable"), None),
    "rows turned": (WHOLE[::-1], None),
    "an empty reader": (cells("participant", "", 700), r"line 702: participant is empty"),
    "a reader that is NA": (cells("participant", "NA", 700), r"line 702: participant is 'NA'"),
    "an empty story": (cells("story", "", 700), r"line 702: story is empty"),
    "an empty position": (cells("word_nr", "", 700), r"line 702: word_nr is ''"),
    "a position of text": (cells("word_nr", "x", 700), r"line 702: word_nr is 'x', no number"),
    "an empty word": (cells("word", "", 700), r"line 702: word is ''"),
    "another word": (cells("word", "tower", 700), r"is 'tower'|before it was 'tower'"),
    "an empty time": (cells("rt", "", 700), None),
    "n/a": (cells("rt", "n/a", 700, 31), None),
    "a dash": (cells("rt", "-", 700), None),
    "a time with its unit": (cells("rt", "402 ms", 700), r"line 702: rt is '402 ms', no number"),
    "a time of two": (cells("rt", "402;403", 700), r"line 702: rt is '402;403', no number"),
    "a time below 0": (cells("rt", -402, 700), r"line 702: rt is '-402', less than 0"),
    "thousands by commas": (grouped(","), None),
    "thousands by points": (grouped("."), None),
    "thousands by spaces": (grouped(" "), None),
    "decimal commas": (WHOLE.assign(rt=[f"{v},25" for v in WHOLE.rt]), None),
    "seconds": (WHOLE.assign(rt=WHOLE.rt / 1000), None),
    "a reader in seconds": (by_reader(lambda v: v / 1000, "p03"), r"times of another size: p03"),
    "a story in seconds": (
        WHOLE.assign(rt=WHOLE.rt / np.where(WHOLE.story == "mill", 1000, 1)),
        r"median time of text mill is .* another unit",
    ),
    "a table twice": (pd.concat([WHOLE, WHOLE]), r"has a response to this word already"),
    "a row twice": (pd.concat([WHOLE[:50], WHOLE[49:]]), r"line 52: subject p01 has a response"),
    "a word twice": (twice_the(WHOLE), r"has a response to this word already"),
    "a word lost": (WHOLE[~((WHOLE.story == "mill") & (WHOLE.word_nr == 7))], r"no word before 8"),
    "a row lost": (WHOLE.drop(index=700), None),
    "no readers": (without("participant"), r"second response|times over"),
    "no readers and no positions": (without("participant", "word_nr"), r"times over|begins again"),
    "no stories": (without("story"), r"word 1 of sentence|is 'Each'|before it was"),
    "no stories and no positions": (without("story", "word_nr"), r"columns must name word_id"),
    "no positions": (without("word_nr"), None),
    "no positions, shuffled": (without("word_nr").sample(frac=1, random_state=1), r"the text garden of p01 begins again"),
    "means without positions, shuffled": (
        WHOLE.groupby(["story", "word_nr", "word"]).rt.mean().round(1).reset_index()
        .drop(columns="word_nr").sample(frac=1, random_state=1),
        r"begins again",
    ),
    "a reader copied": (
        pd.concat([WHOLE, WHOLE[WHOLE.participant == "p05"].assign(participant="p13")]),
        r"'p05' and 'p13' have the same responses",
    ),
    "a reader in two spellings": (
        WHOLE.assign(participant=WHOLE.participant.where(WHOLE.index % 40 > 0, WHOLE.participant.str.upper())),
        r"written in two ways|P0|one label in two spellings",
    ),
    "a constant run": (run_of(WHOLE, 40), r"subject p04 has 402 40 times in a row"),
    "a reader of one time": (by_reader(lambda v: 0 * v + 350, "p07"), r"same time throughout: p07|350 .* times in a row"),
    "times shuffled within a reader": (by_reader(lambda v: v.sample(frac=1, random_state=1), "p07"), None),
    "times of the next word": (
        WHOLE.assign(rt=WHOLE.groupby(["participant", "story"]).rt.shift(-1).fillna(300).astype(int)),
        r"correlat|Move each time",
    ),
    "percent-encoding": (WHOLE.assign(word=WHOLE.word.str.replace(",", "%2C")), None),
    "percent-encoding in names of two columns": (
        WHOLE.assign(
            word=WHOLE.word.str.replace(",", "%2C"),
            story=WHOLE.story.map({"mill": "a%2Cb", "harbour": "c", "garden": "a%2Cd"}),
        ),
        None,
    ),
    "percent-encoding beside percents": (
        WHOLE.assign(word=WHOLE.word.str.replace(",", "%2C").str.replace("twice", "5%")),
        r"percent-encoding in",
    ),
    "mojibake": (WHOLE.assign(word=WHOLE.word.str.replace("key", "kâ€™y")), r"UTF-8 read as another encoding"),
    "entities": (WHOLE.assign(word=WHOLE.word.str.replace("and", "&amp;")), r"an HTML entity"),
    "lost letters": (WHOLE.assign(word=WHOLE.word.str.replace("beans", "be\ufffdns")), r"lost"),
}  # fmt: skip


def described(path):
    """Run the command; return its status, output and error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["describe", str(path)])
    return status, out.getvalue(), err.getvalue()


def parsed(text):
    """Read words and times of the first measure by the entry."""
    ((_, entry),) = yaml.safe_load(text)["datasets"].items()
    options, measure = entry["options"], next(iter(entry["measures"]))
    of_words = {k: v for k, v in options.items() if k in (*OF_BOTH, "sentences", "phrases")}
    of_times = {k: v for k, v in options.items() if k not in ("sentences", "phrases")}
    files = {"table": entry["words"]["table"]["local"]}
    with contextlib.redirect_stderr(io.StringIO()):
        words = check_words(parser.words(files, measures=(measure,), **of_words), "words")
        times = parser.responses(files, words, measure, **of_times)
    return words, check_responses(times, words, measure)


@pytest.mark.merge
@pytest.mark.parametrize("name", DAMAGES)
def test_the_table_is_right_or_its_damage_is_named(tmp_path, name):
    frame, message = DAMAGES[name]
    path = tmp_path / "mine.csv"
    frame.to_csv(path, index=False)
    status, out, err = described(path)
    if message is not None:
        assert status == 2 and yaml.safe_load(out or "#") is None
        assert re.search(message, err), err
        return
    assert status == 0, err
    words, times = parsed(out)
    stories = words.groupby("item", sort=False).word.agg(list).tolist()
    assert sorted(stories) == sorted(text.split() for text in STORIES.values())
    sentences = words.groupby("sentence", sort=False).word.last()
    assert sentences.str.endswith(".").all() and len(sentences) == 18
    label = {tuple(text.split()): story for story, text in STORIES.items()}
    if name != "times shuffled within a reader":
        item = {
            i: label[tuple(of)]
            for i, of in words.groupby("item", sort=False).word.agg(list).items()
        }
        place = words.groupby("item", sort=False).cumcount() + 1
        true = slow(WHOLE) if name.startswith("thousands") else WHOLE
        true = true.set_index(["participant", "story", "word_nr"]).rt + 0.25 * (
            name == "decimal commas"
        )
        found = {
            (
                row.subject,
                item[words["item"].iloc[row.word_id]],
                int(place.iloc[row.word_id]),
            ): row.time_ms
            for row in times.itertuples()
        }
        lost = {"an empty time": 1, "n/a": 2, "a dash": 1, "a row lost": 1}.get(name, 0)
        assert len(found) == len(true) - lost
        assert all(abs(true[key] - value) < 1e-6 for key, value in found.items())
