"""ZuCo: total times by reader and item means; its results files are in test_dataset_results.py."""

import pytest

from parsing import responses_of, sizes, words_of, write
from readingtimes.errors import InputError

TRT = """task subject sentence_id word_id word TRT
zuco1_SR A 0 0 paul\ufffds 100
zuco1_SR A 0 1 car 0
zuco1_SR A 0 2 , 0
zuco1_SR A 0 2 he 90
zuco1_SR A 0 3 said 80
zuco1_SR A 0 4 ) 0
zuco1_SR A 0 5 . 0
zuco1_SR A 2 0 yes 70
zuco1_SR A 2 1 . 0
zuco1_SR A 3 1 . 0
zuco1_SR A 3 1 . 0
zuco1_SR A 3 0 .. 60
zuco1_SR A 3 1 . 0
zuco1_SR A 3 1 no 50
zuco1_SR B 7 1 . 0
zuco1_SR B 7 1 . 0
zuco1_SR B 7 0 .. 0
zuco1_SR B 7 1 . 0
zuco1_SR B 7 1 no 40
zuco1_NR A 0 0 so 30
""".replace(" ", "\t")


def test_zucos_punctuation_is_put_back_and_sentences_matched(tmp_path, capsys):
    text = TRT.replace("5\t.\t0", "4\t.\t0")
    files = {"trt": write(tmp_path / "trt.tsv", text)}
    words = words_of("zuco", files)
    texts = words.groupby("sentence").word.agg(" ".join).tolist()
    assert texts == ["paul’s car, he said).", "yes.", "... no", "so"]
    found = responses_of("zuco", files, words, "TFT")
    assert found.subject.tolist() == ["A"] * 7 + ["B"] * 2 + ["A"]
    assert found.word_id.tolist() == [*range(7), 5, 6, 7]
    assert found.time_ms.tolist() == [100, 0, 90, 80, 70, 60, 50, 0, 40, 30]
    assert (
        found.previous_fixated.tolist()
        == [False, True, False, True, *[False] * 2, True] + [False] * 3
    )
    assert "1 rows with a lost character corrected" in capsys.readouterr().err
    assert len(words_of("zuco", files, tasks=["zuco1_NR"])) == 1
    with pytest.raises(
        InputError, match=r"tasks: 'zuco1_RS' is not possible here; did you mean zuco1_SR\?"
    ):
        words_of("zuco", files, tasks=["zuco1_RS"])


def test_zucos_sentences_of_unclear_place_are_dropped_and_counted(tmp_path, capsys):
    header = "task\tsubject\tsentence_id\tword_id\tword\tTRT\n"
    rows = [f"zuco1_NR\tA\t{n}\t0\t{word}\t1" for n, word in enumerate(["yes", "no", "yes"])]
    rows += ["zuco1_NR\tB\t0\t0\tyes\t2"]
    files = {"trt": write(tmp_path / "trt.tsv", header + "\n".join(rows) + "\n")}
    words = words_of("zuco", files)
    found = responses_of("zuco", files, words, "TFT")
    assert (found.subject == "A").all()
    assert "1 sentences dropped: which of several equal ones" in capsys.readouterr().err
    write(files["trt"], header + "\n".join([*rows, "zuco1_NR\tB\t1\t0\tmaybe\t2"]) + "\n")
    with pytest.raises(InputError, match="sentences of reader B in zuco1_NR are not, in order"):
        words_of("zuco", files)


@pytest.mark.merge
def test_zucos_readers(shared_data):
    files = {"trt": shared_data / "zuco" / "zuco_TRT_by_subject.tsv.gz"}
    words = words_of("zuco", files, tasks=["zuco1_NR"])
    found = responses_of("zuco", files, words, "TFT", tasks=["zuco1_NR"])
    assert sizes(words, found) == (295, 295, 6019, 12, 70_248)
    assert words.word[:7].tolist() == ["with", "his", "interest", "in", "race", "cars,", "he"]
    complete = found.groupby("subject").size() == len(words)
    assert complete.sum() == 10


def test_zucos_item_means(shared_data):
    files = {"means": shared_data / "zuco" / "zuco_all_item_means.tsv.gz"}
    words = words_of("zuco", files)
    found = {name: responses_of("zuco", files, words, name) for name in ("FFD", "FP", "TFT")}
    assert sizes(words, found["FP"]) == (1216, 1216, 20_545, 1, 20_545)
    assert (found["FFD"].time_ms <= found["FP"].time_ms + 0.01).all()
    assert (found["FP"].time_ms <= found["TFT"].time_ms + 0.01).all()
