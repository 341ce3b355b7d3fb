"""The table "your file looks like" of docs/corpora.md: each of its rows is run."""

import zipfile

import numpy as np
import pytest
import yaml
from instrument_files import STORIES, pcibex
from test_describe import described
from test_describe_damage import STORIES as TEXTS
from test_describe_damage import WHOLE, grouped, parsed, slow

from item_tables import means
from own_corpus import save
from project import ROOT
from readingtimes.parsers import natural_stories
from readingtimes.parsers import table as parser

WORDS = WHOLE[WHOLE.participant == "p01"][["story", "word_nr", "word"]]
ONE_READER = WHOLE[WHOLE.participant == "p01"]


def entry_of(*asked):
    """Describe a file; return its entry and what is read by it."""
    status, out, err = described(*asked)
    assert status == 0, err
    made = yaml.safe_load(out)
    ((_, entry),) = made["datasets"].items()
    return entry, out


def times_of(out):
    """Return the responses by an entry, as (subject, word, ms) in order."""
    words, times = parsed(out)
    return sorted(zip(times.subject, words.word.iloc[times.word_id], times.time_ms, strict=True))


ALL = sorted(zip(WHOLE.participant, WHOLE.word, WHOLE.rt.astype(float), strict=True))


def long(folder, shared):
    entry, out = entry_of(save(WHOLE, folder / "a.csv"))
    assert times_of(out) == ALL and "partitioned" not in entry


def of_means(folder, shared):
    frame = ONE_READER.drop(columns="participant").assign(
        rt=WHOLE.groupby(["story", "word_nr"], sort=False).rt.mean().to_numpy()
    )
    entry, out = entry_of(save(frame, folder / "a.csv"))
    assert entry["partitioned"] is False and "subject" not in entry["options"]["columns"]
    assert [ms for *_, ms in times_of(out)] == pytest.approx(sorted_by_word(frame))


def sorted_by_word(frame):
    return [ms for _, ms in sorted(zip(frame.word, frame.rt, strict=True))]


def wide(folder, shared):
    frame = WHOLE.pivot(index=["story", "word_nr", "word"], columns="participant", values="rt")
    frame = frame.rename(columns=lambda name: f"rt_{name[1:]}").reset_index()
    entry, out = entry_of(save(frame, folder / "a.csv"))
    assert entry["options"]["columns"]["SPR"] == "rt_*"
    assert [ms for *_, ms in times_of(out)] == [
        ms for *_, ms in sorted((f"{r[1:]}", w, m) for r, w, m in ALL)
    ]


def eyes(folder, shared):
    frame = WHOLE.rename(columns={"rt": "gaze"})
    frame = frame.assign(first_fix=frame.gaze - 20 - frame.index % 7, go_past=frame.gaze + 30)
    entry, _ = entry_of(save(frame, folder / "a.csv"))
    assert set(entry["measures"]) == {"FFD", "FP", "GP"}
    assert entry["options"]["columns"]["GP"] == "go_past"


def two_files(folder, shared):
    times = save(WHOLE.drop(columns="word"), folder / "times.csv")
    entry, _ = entry_of(times, "--words", save(WORDS, folder / "words.csv"))
    files = {"table": times}
    given = {"columns": entry["options"]["columns"], "sentences": entry["options"]["sentences"]}
    words = parser.words({"table": folder / "words.csv"}, measures=("Maze",), **given)
    del given["sentences"]
    read = parser.responses(files, words, "Maze", **given)
    found = zip(read.subject, words.word.iloc[read.word_id], read.time_ms, strict=True)
    assert sorted(found) == ALL


def known_corpus(folder, shared):
    story = natural_stories.words({"stories": shared / "naturalstories/all_stories.tok"})
    story = story[story["item"] == "08"]
    story = story.assign(zone=np.arange(len(story)))
    made = story[["item", "zone", "word"]].assign(subject="p1", rt=300 + story.zone)
    _, out, _ = described(save(made, folder / "a.csv"), "--words", "natural_stories")
    assert "joined by join: {item: labels, position: from 0 in item}" in out
    assert yaml.safe_load(out)["datasets"]["a"]["words"] == {"dataset": "natural_stories"}


def items(folder, shared):
    entry, out = entry_of(save(means(24).drop(columns="place"), folder / "a.csv"))
    assert entry["options"]["shape"] == "items" and "24 stimuli × 3 conditions" in out


def european(folder, shared):
    frame = WHOLE.assign(rt=[f"{v / 1000:.3f}".replace(".", ",") for v in WHOLE.rt])
    frame.to_csv(folder / "a.csv", index=False, sep=";")
    entry, out = entry_of(folder / "a.csv")
    assert entry["options"]["decimal"] == "," and entry["options"]["unit"] == "s"
    assert [row[2] for row in times_of(out)] == pytest.approx([row[2] for row in ALL])


def odd_cells(folder, shared):
    frame = WHOLE.astype({"rt": object})
    frame.loc[7, "rt"], frame.loc[9, "rt"] = "n/a", "-"
    entry, out = entry_of(save(frame, folder / "a.csv"))
    assert {"n/a", "-"} <= set(entry["options"]["missing"]) and len(times_of(out)) == len(ALL) - 2
    entry, out = entry_of(save(grouped(","), folder / "b.csv"))
    assert entry["options"]["thousands"] == ","
    assert sum(row[2] for row in times_of(out)) == slow(WHOLE).rt.sum()


def program(folder, shared):
    (folder / "results").write_text(pcibex(STORIES))
    _, out = entry_of(folder / "results")
    words, times = parsed(out)
    read = {tuple(of) for of in words.groupby("item", sort=False).word.agg(list)}
    assert read == {tuple(text.split()) for text in TEXTS.values()} and len(times) > 500


def archive(folder, shared):
    with zipfile.ZipFile(folder / "a.zip", "w") as file:
        for reader, rows in WHOLE.groupby("participant"):
            file.writestr(f"{reader}.csv", rows.drop(columns="participant").to_csv(index=False))
    columns = {
        "item": "story",
        "position": "word_nr",
        "word": "word",
        "subject": "reader",
        "SPR": "rt",
    }
    options = {"columns": columns, "members": "{reader}.csv"}
    files = {"table": folder / "a.zip"}
    words = parser.words(files, measures=("SPR",), sentences="punctuation", **options)
    read = parser.responses(files, words, "SPR", **options)
    found = zip(read.subject, words.word.iloc[read.word_id], read.time_ms, strict=True)
    assert sorted(found) == ALL


def surprisals(folder, shared):
    bits = 3 + WORDS.word.str.len() * 1.3 + np.arange(len(WORDS)) % 3
    scores = WORDS.assign(gpt2=bits, gpt3=bits * 0.9)
    known = save(WORDS, folder / "words.csv")
    status, out, err = described(save(scores, folder / "a.csv"), "--words", known)
    assert status == 0, err
    assert yaml.safe_load(out)["lms_from"]["a"]["columns"] == {"gpt2_a": "gpt2", "gpt3": "gpt3"}


ROWS = [
    long,
    of_means,
    wide,
    eyes,
    two_files,
    known_corpus,
    items,
    european,
    odd_cells,
    program,
    archive,
    surprisals,
]


def rows_of_page():
    page = (ROOT / "docs" / "corpora.md").read_text()
    table = page.partition("| your file looks like | → |\n|---|---|\n")[2].partition("\n\n")[0]
    return table.splitlines()


@pytest.mark.merge
@pytest.mark.parametrize("number", range(12), ids=[row.__name__ for row in ROWS])
def test_each_row_is_as_it_says(tmp_path, number, monkeypatch, request):
    row, run = rows_of_page()[number], ROWS[number]
    if run is known_corpus:
        shared = request.getfixturevalue("shared_data")
        monkeypatch.setenv("RECENCY_MIRROR", f"{shared.parent / 'mirror'}:{shared}")
    monkeypatch.chdir(ROOT)
    assert ("describe " in row) is (run is not archive) and ("--words" in row) is (
        run in WITH_WORDS
    )
    run(tmp_path, request.getfixturevalue("shared_data") if run is known_corpus else None)


WITH_WORDS = (two_files, known_corpus, surprisals)


def test_the_page_has_these_twelve_rows():
    assert len(rows_of_page()) == len(ROWS) == 12
