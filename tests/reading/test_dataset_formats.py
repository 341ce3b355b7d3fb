"""The parsers on small files made to the original distributions' formats."""

import pandas as pd
import pytest

from parsing import read, write
from readingtimes import parsers
from readingtimes.parsers import natural_stories
from recency.errors import REFUSALS
from recency.reading import observations, responses, words

# ---------------------------------------------------------------- Natural Stories


STORY = [
    "It",
    "was",
    "late.",
    "Then",
    "Ann",
    "said",
    "that",
    "she",
    "had",
    "to",
    "go.",
    "'Why?'",
    "asked",
    "Bo.",
    "She",
    "left.",
]
READERS = [4, 5, 3, 5, 4, 4, 2, 5, 3, 4, 5, 2, 3, 4, 5, 3]


@pytest.fixture
def stories(tmp_path):
    rows = [f"{word}\t{zone}\t{item}" for item in (1, 2) for zone, word in enumerate(STORY, 1)]
    path = write(tmp_path / "all_stories.tok", "word\tzone\titem\n" + "\n".join(rows) + "\n")
    return natural_stories.words({"stories": path})


def processed(tmp_path, move):
    """Write a processed_RTs.tsv whose times stand `move` words late, and the readers' counts."""
    rows, counts = [], []
    for item in (1, 2):
        for zone, n in enumerate(READERS[: len(STORY)], start=1):
            counts.append(f"{STORY[zone - 1]}\t{zone}\t{item}\t{n}")
            at = zone + move
            if 1 <= at <= len(STORY):
                for subject in range(n):
                    fields = (f"A{subject}", 900, 6, item, at, 200 + zone, STORY[at - 1], n)
                    rows.append("\t".join(map(str, fields)))
    header = "WorkerId\tWorkTimeInSeconds\tcorrect\titem\tzone\tRT\tword\tnItem\n"
    times = write(tmp_path / "processed_RTs.tsv", header + "\n".join(rows) + "\n")
    text = "word\tzone\titem\tnItem\n" + "\n".join(counts) + "\n"
    return {"times": times, "readers": write(tmp_path / "processed_wordinfo.tsv", text)}


@pytest.mark.parametrize("move", [0, 1, -1])
def test_moved_times_are_found_and_moved_back(tmp_path, stories, move, capsys):
    found = natural_stories.responses(processed(tmp_path, move), stories, "SPR")
    zone = found.word_id.map(stories.groupby("item").cumcount() + 1)
    assert (found.time_ms == 200 + zone).all()
    told = f"times stand {move:+d} word from the paper's alignment" in capsys.readouterr().err
    assert told == (move != 0)


def test_offset_moves_times_on_and_reports_what_falls_off(tmp_path, stories, capsys):
    files = processed(tmp_path, 0)
    found = natural_stories.responses(files, stories, "SPR", offset=1)
    zone = found.word_id.map(stories.groupby("item").cumcount() + 1)
    assert (found.time_ms == 199 + zone).all()
    assert "times dropped, of zones outside" in capsys.readouterr().err


def test_an_alignment_that_cannot_be_known_is_told(tmp_path, stories):
    files = processed(tmp_path, 0)
    readers = files.pop("readers")
    with pytest.raises(REFUSALS, match="name that file as `readers`"):
        natural_stories.responses(files, stories, "SPR")
    assert len(natural_stories.responses(files, stories, "SPR", file_offset=0)) > 0
    other = readers.read_text().replace("\t5\n", "\t9\n").replace("\t4\n", "\t8\n")
    write(readers, other)
    with pytest.raises(REFUSALS, match="at no alignment"):
        natural_stories.responses({**files, "readers": readers}, stories, "SPR")


def test_another_versions_words_are_refused(tmp_path, stories):
    files = processed(tmp_path, 0)
    write(files["times"], files["times"].read_text().replace("\tlate.\t", "\tearly.\t"))
    with pytest.raises(REFUSALS, match=r"story 1, zone 3 is 'early.', the stories have 'late.'"):
        natural_stories.responses(files, stories, "SPR")


def test_raw_batches_are_counted_from_the_first_word(tmp_path, capsys):
    rows = [f"w{zone}\t{zone}\t3" for zone in range(1, 241)]
    path = write(tmp_path / "all_stories.tok", "word\tzone\titem\n" + "\n".join(rows) + "\n")
    found = natural_stories.words({"stories": path})
    lines = [f"A,900,5,3,{zone},{100 + zone}" for zone in (1, 2, 3, 230, 231, 232, 243)]
    text = "WorkerId,WorkTimeInSeconds,correct,item,zone,RT\n" + "\n".join(lines) + "\n"
    times = {"batch1": write(tmp_path / "batch1_pro.csv", text)}
    got = natural_stories.responses(times, found, "SPR")
    assert got.word_id.tolist() == [0, 227, 228, 239]
    assert got.time_ms.tolist() == [103, 330, 332, 343]
    told = capsys.readouterr().err
    assert "1 times dropped, of story 3's zone 231" in told
    assert "2 times dropped, of the screens before" in told


def test_stories_with_a_gap_are_refused(tmp_path):
    path = write(tmp_path / "all_stories.tok", "word\tzone\titem\nIt\t1\t1\nis\t3\t1\n")
    with pytest.raises(REFUSALS, match="line 3: story 1 has no zone before 3"):
        natural_stories.words({"stories": path})


def test_parts_of_speech_come_from_the_trees(tmp_path):
    text = "word\tzone\titem\nAnn\t1\t1\ndoesn't\t2\t1\nsing.\t3\t1\n"
    stories = write(tmp_path / "all_stories.tok", text)
    tree = "(ROOT (S (NP (NNP Ann/1.1)) (VP (VBZ does/1.2.1) (RB n't/1.2.2) (NP (-NONE- *))"
    trees = write(tmp_path / "trees", f"{tree} (VP (VB sing/1.3.1))) (. ./1.3.2)))\n")
    found = natural_stories.words({"stories": stories, "trees": trees})
    assert found.pos.tolist() == ["noun", "verb", "verb"]
    assert "pos" not in natural_stories.words({"stories": stories})
    write(trees, tree)
    with pytest.raises(REFUSALS, match="no leaf is word 3 of story 1"):
        natural_stories.words({"stories": stories, "trees": trees})


def test_every_word_of_natural_stories_has_a_part_of_speech(shared_data):
    folder = shared_data / "naturalstories"
    trees = folder / "all-parses-aligned.txt.penn.gz"
    found = natural_stories.words({"stories": folder / "all_stories.tok", "trees": trees})
    kinds = found.pos.value_counts()
    assert kinds.sum() == 10_256 and list(kinds.index) == ["other", "noun", "verb"]
    assert found.pos[found.word == "valley"].eq("noun").all()


# ---------------------------------------------------------------- table


OWN = """story,sent,pos,token,who,ms,age,acc
a,1,1,It,s2,210,20,true
a,1,2,rained.,s2,0,20,true
a,2,1,We,s2,300,20,false
a,1,1,It,s10,190,31,true
a,1,2,rained.,s10,250,31,true
a,2,1,We,s10,0,31,true
"""
COLUMNS = {
    "item": "story",
    "sentence": "sent",
    "position": "pos",
    "word": "token",
    "subject": "who",
}


def test_a_table_of_ones_own(tmp_path):
    file = {"table": write(tmp_path / "own.csv", OWN)}
    columns = {**COLUMNS, "FP": "ms", "age": "age", "right": "acc"}
    found, got = read("table", file, file, "FP", columns=columns, eye_tracking=True)
    assert found.word.tolist() == ["It", "rained.", "We"]
    assert got.subject.tolist() == ["s02"] * 3 + ["s10"] * 3
    assert got.word_id.tolist() == [0, 1, 2, 0, 1, 2]
    assert got.time_ms.tolist() == [210, 0, 300, 190, 250, 0]
    assert got.previous_fixated.tolist() == [False, True, False, False, True, True]
    assert got.words_since_fixation.tolist() == [1, 1, 2, 1, 1, 1]
    assert got.age.tolist() == [20.0] * 3 + [31.0] * 3
    assert got.right.tolist() == [True, True, False, True, True, True]


def test_a_table_of_parquet_with_word_ids(tmp_path):
    path = tmp_path / "times.parquet"
    pd.DataFrame({"subject": ["1"], "word_id": [2], "time_ms": [300.5]}).to_parquet(path)
    file = {"table": write(tmp_path / "own.csv", OWN)}
    columns = COLUMNS | {"subject": "subject"}
    with pytest.raises(REFUSALS, match=r"several alignments fit.*join: \{word_id: from 0\}"):
        read("table", file, {"times": path}, "SPR", columns=columns)
    join = {"word_id": "from 0"}
    _, got = read("table", file, {"times": path}, "SPR", columns=columns, join=join)
    assert got.to_dict("list") == {"subject": ["1"], "word_id": [2], "time_ms": [300.5]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "a,1,1,It,s10",
            "a,1,1,He,s10",
            "line 5: word 1 of sentence 1 of a is 'He', before it was 'It'",
        ),
        ("a,2,1,We", "a,2,4,We", "sentence 2 has no word before 4"),
        ("who", "reader", "no column who"),
        (",ms,", ",time,", r"no column ms"),
        ("s10,190", "s10,x", "line 5: ms is 'x', not a number"),
        ("s10", "s2", "line 5: subject s2 has a response to this word already"),
    ],
)
def test_faults_of_a_table_are_told(tmp_path, old, new, message):
    file = {"table": write(tmp_path / "own.csv", OWN.replace(old, new))}
    with pytest.raises(REFUSALS, match=message):
        read("table", file, file, "SPR", columns={**COLUMNS, "SPR": "ms"})


def test_a_table_needs_to_say_which_word(tmp_path):
    file = {"table": write(tmp_path / "own.csv", OWN)}
    times = {"times": write(tmp_path / "times.csv", "who,ms\ns1,200\n")}
    with pytest.raises(REFUSALS, match="neither a column word_id nor sent"):
        read("table", file, times, "SPR", columns={**COLUMNS, "SPR": "ms"})


def test_the_rules_scripts_go_from_files_to_observations(tmp_path):
    rows = ["item,sentence,position,word"]
    rows += [f"a,{s},{p},w{p}" for s in range(1, 9) for p in range(1, 5)]
    stimuli = write(tmp_path / "stimuli.csv", "\n".join(rows) + "\n")
    times = [f"{who},{word},{200 + 7 * who + word}" for who in range(8) for word in range(32)]
    readers = write(tmp_path / "t.csv", "subject,word_id,time_ms\n" + "\n".join(times) + "\n")
    made = {name: tmp_path / f"{name}.parquet" for name in ("words", "responses", "f", "e", "h")}
    words.main(files={"stimuli": stimuli}, parser="table", options={}, out=made["words"])
    responses.main(
        files={"times": readers},
        words=made["words"],
        parser="table",
        measure="SPR",
        options={},
        out=made["responses"],
    )
    observations.main(
        words=made["words"],
        responses=made["responses"],
        filters=[{"name": "edges", "keep": "1 < position < 4"}],
        out_fit=made["f"],
        out_exploratory=made["e"],
        out_held_out=made["h"],
        out_counts=tmp_path / "counts.csv",
    )
    assert [len(pd.read_parquet(made[name])) for name in "feh"] == [64, 32, 32]
    with pytest.raises(REFUSALS, match=r"measures → FPP: .* did you mean FP\?"):
        arguments = {"files": {}, "words": made["words"], "options": {}, "out": tmp_path / "no"}
        responses.main(parser="provo", measure="FPP", **arguments)


# ---------------------------------------------------------------- Brown


BROWN = """,subject,word,code,text_id,text_pos,word_in_exp,time
1,s2,In,10,0,0,5,300.5
2,s2,"N. Y.",11,0,1,6,280
3,s2,it --,12,0,2,7,290
4,s2,rains.,13,0,3,8,310
5,s2,Oh!,14,1,0,9,320
6,s10,Oh!,14,1,0,4,330
7,s10,Oh!,14,1,0,5,340
"""


def test_browns_csv(tmp_path, capsys):
    file = {"times": write(tmp_path / "brown_spr.csv", BROWN)}
    found, got = read("brown", file, file, "SPR")
    assert found.word.tolist() == ["In", "N.Y.", "it--", "rains.", "Oh!"]
    assert found["item"].tolist() == ["0"] * 4 + ["1"]
    assert got.subject.tolist() == ["s02"] * 5 + ["s10"]
    assert got.word_id.tolist() == [0, 1, 2, 3, 4, 4]
    assert got.time_ms.tolist() == [300.5, 280, 290, 310, 320, 330]
    assert "1 rows dropped, repeats" in capsys.readouterr().err
    given = write(tmp_path / "sentences.txt", "In N. Y. it -- rains.\n\nOh!\n")
    found = parsers.parser("brown").words({**file, "sentences": given})
    assert found.sentence.tolist() == [1, 1, 1, 1, 2]


def test_browns_faults_are_told(tmp_path):
    file = {"times": write(tmp_path / "brown.csv", BROWN.replace("s10,Oh!", "s10,Ah!", 1))}
    with pytest.raises(REFUSALS, match="line 7: word 0 of text 1 is 'Ah!', before it was 'Oh!'"):
        parsers.parser("brown").words(file)
    file = {"times": write(tmp_path / "brown.csv", BROWN)}
    given = write(tmp_path / "sentences.txt", "In N. Y. it rains.\n")
    with pytest.raises(REFUSALS, match="does not match the words"):
        parsers.parser("brown").words({**file, "sentences": given})
