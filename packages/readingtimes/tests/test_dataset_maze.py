"""The G-maze of Boyce et al. and self-paced reading of the same sentences."""

import pytest

from parsing import responses_of, sizes, words_of, write
from readingtimes.errors import InputError


def test_the_maze(shared_data):
    folder = shared_data / "maze_witzel2012"
    words = words_of("witzel", {"sentences": folder / "witzel2012_gmaze_sentences.tsv"})
    found = responses_of("witzel", {"times": folder / "witzel2012_gmaze.tsv.gz"}, words, "Maze")
    assert sizes(words, found) == (176, 176, 2465, 32, 40_877)
    assert (~found.correct).sum() == 811
    last = ~found.assign(item=found.word_id.map(words["item"])).duplicated(
        ["subject", "item"], keep="last"
    )
    assert last[~found.correct].all()  # a trial ends with its error
    assert (found.type == "practice").sum() == 2963


def test_the_mazes_foils(shared_data, tmp_path):
    folder = shared_data / "maze_witzel2012"
    files = {"sentences": folder / "witzel2012_gmaze_sentences.tsv"}
    words = words_of("witzel", files | {"foils": folder / "witzel2012_gmaze.tsv.gz"})
    first = words[words["item"] == "101"]  # "The husband …", beside x-x-x, everyone …
    assert first.foil_length.tolist()[:2] == [5, 8]
    assert first.foil.isna().tolist()[:2] == [True, False] and first.foil.iloc[1] == "everyone"
    own = ["foil_length", "foil", "condition"]
    assert words.drop(columns=own).equals(words_of("witzel", files))
    # Versions differ at the pronoun of a relative clause, and before the "and".
    apart = words[words.offset == 0]
    assert set(apart.word[apart.condition.str.startswith("relative")]) == {"himself", "herself"}
    assert words[(words["item"] == "025/1") & (words.offset == 4)].word.tolist() == ["played"]
    assert words.offset[words.frame == "134"].isna().all()  # a sentence of both lists
    experimental = ~words.condition.isin(["practice", "filler"])
    assert words[experimental].groupby("frame")["item"].nunique().value_counts().to_dict() == {
        2: 72
    }
    text = "list\titem\tword_num\tdistractor\n1\t1\t0\tx-x-x\n1\t1\t1\twere\n"
    sentences = {"s": write(tmp_path / "s.tsv", "list\titem\tsentence\n1\t1\tHe left.\n")}
    foils = {"foils": write(tmp_path / "f.tsv", text)}
    assert words_of("witzel", sentences | foils).foil_length.tolist() == [5, 4]
    write(foils["foils"], text + "1\t1\t1\twas\n")
    with pytest.raises(InputError, match="word 1 of item 1, list 1, has several distractors"):
        words_of("witzel", sentences | foils)
    write(foils["foils"], text[: text.rindex("1\t1\t1")])
    with pytest.raises(InputError, match="no row is word 1 of item 1, list 1"):
        words_of("witzel", sentences | foils)


def test_the_mazes_self_paced_reading(shared_data):
    files = {"times": shared_data / "maze_witzel2012" / "witzel2012_spr.tsv.gz"}
    words = words_of("witzel", files)
    found = responses_of("witzel", files, words, "SPR")
    assert sizes(words, found) == (176, 176, 2465, 32, 46_560)
    assert found.answer.value_counts().to_dict() == {"-": 23_296, "c": 20_710, "e": 2_554}
    assert {"hrself", "Sarah", "Yesterday,"} < set(words.word)


def test_lists_that_differ_are_items_of_their_own(tmp_path):
    text = "list\titem\tsentence\n1\t1\tHe left.\n1\t2\tOh no.\n2\t1\tShe left.\n2\t2\tOh no.\n"
    words = words_of("witzel", {"s": write(tmp_path / "s.tsv", text)})
    assert words["item"].tolist() == ["001/1"] * 2 + ["001/2"] * 2 + ["002"] * 2
    header = "list\tsubject\titem\ttype\tword_num\tword\trt\tcorrect\n"
    rows = "2\t2_9\t1\tfiller\t0\tShe\t900\t1\n2\t2_9\t1\tfiller\t1\tleft.\t800\t0\n"
    rows += "2\t2_10\t2\tfiller\t0\tOh\t700\t1\n2\t2_10\t2\tfiller\t1\tno.\t600\t1\n"
    path = write(tmp_path / "t.tsv", header + rows)
    found = responses_of("witzel", {"t": path}, words, "Maze")
    assert found.subject.tolist() == ["2_09"] * 2 + ["2_10"] * 2
    assert found.word_id.tolist() == [2, 3, 4, 5]
    write(path, (header + rows).replace("She", "He"))
    with pytest.raises(InputError, match="word 0 of item 1, list 2, is 'He'; .* have 'She'"):
        responses_of("witzel", {"t": path}, words, "Maze")
    write(path, (header + rows).replace("600\t1", "600\t2"))
    with pytest.raises(InputError, match="line 5: correct is '2', expected 0 or 1"):
        responses_of("witzel", {"t": path}, words, "Maze")
