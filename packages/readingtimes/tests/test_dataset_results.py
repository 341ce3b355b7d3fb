"""ZuCo's results files, made by scipy in their format: what is read, what is damaged."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from parsing import responses_of, words_of
from readingtimes import parsers
from readingtimes.contracts import check_responses, check_words
from readingtimes.errors import InputError
from readingtimes.formats import zuco_results

NONE = np.array([])
# By sentence: words and (FFD, GD, GPT, TRT) of each, None where not fixated.
REVIEW = [("Presents", (210, 250, 250, 400)), ("a", None), ("case.", (180.5, 180.5, 300, 180.5))]
FILM = [("The", (100, 0, 0, 100)), ("film.1", None), ("is", (90, 90, 90, 90))]
FILM += [("emp11111ty,", (120, 130, 130, 130))]
ONE = [("Fun!", (300, 300, 300, 300))]
WIKI = [("He", (150, 150, 150, 150)), ("won.", None)]


def structs(rows):
    """Make an array of structs, as MATLAB has it."""
    made = np.empty(len(rows), dtype=[(name, object) for name in rows[0]])
    for place, row in enumerate(rows):
        made[place] = tuple(row.values())
    return made


def word(content, times):
    names = ("FFD", "GD", "GPT", "TRT")
    values = dict(zip(names, times or [NONE] * 4, strict=True))
    return {
        "content": content,
        "nFixations": NONE if times is None else 1.0,
        **values,
        "rawEEG": NONE,
    }


def results(path, sentences, drop=None, **more):
    """Save a results file; None stands for a sentence that the reader has no data of."""
    elements = []
    for sentence in sentences:
        said = np.nan if sentence is None else structs([word(*pair) for pair in sentence])
        content = "lost" if sentence is None else " ".join(w for w, _ in sentence)
        elements.append({"content": content, "rawData": np.zeros((4, 3)), "word": said})
    if drop:
        elements = [{k: v for k, v in element.items() if k != drop} for element in elements]
    savemat(path, {"sentenceData": structs(elements)} | more)
    return path


@pytest.fixture
def corpus(tmp_path):
    """Two readers of film reviews, one of them of Wikipedia."""
    files = {
        "a": results(tmp_path / "resultsZAB_SR.mat", [REVIEW, None, FILM, ONE]),
        "b": results(tmp_path / "resultsZDM_SR.mat", [REVIEW, ONE, FILM[:2] + FILM[3:], ONE]),
        "c": results(tmp_path / "resultsZDM_NR.mat", [WIKI]),
        "d": results(tmp_path / "resultsZDM_TSR.mat", [ONE]),
    }
    return files


@pytest.mark.merge
@pytest.mark.parametrize(
    ("measure", "first", "film"),
    [
        ("FFD", [210, 0, 180.5], [100, 0, 90, 120]),
        ("FP", [250, 0, 180.5], [0, 0, 90, 130]),
        ("GP", [250, 0, 300], [0, 0, 90, 130]),
        ("TFT", [400, 0, 180.5], [100, 0, 90, 130]),
    ],
)
def test_results_files(corpus, capsys, measure, first, film):
    words = words_of("zuco", corpus)
    texts = words.groupby("sentence").word.agg(" ".join).tolist()
    assert texts == ["Presents a case.", "Fun!", "The film. is empty,", "Fun!", "He won."]
    assert words["item"].is_monotonic_increasing
    found = responses_of("zuco", corpus, words, measure)
    mine = found[found.subject == "ZAB"]
    assert mine.time_ms.tolist() == [*first, *film, 300]
    assert mine.word_id.tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    assert mine.previous_fixated.tolist() == [False, True, False, False, False, False, True, False]
    other = found[found.subject == "ZDM"]
    assert other.word_id.tolist() == [0, 1, 2, 3, 8, 9, 10]
    assert other.time_ms.tolist() == [*first, 300, 300, 150, 0]
    assert (
        "1 sentences dropped, with other words than most readers' there" in capsys.readouterr().err
    )
    assert words_of("zuco", corpus, tasks=["zuco1_NR"]).word.tolist() == ["He", "won."]


@pytest.mark.merge
def test_a_zip_of_results_files_is_the_same(corpus, tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "zuco.zip", "w") as archive:
        for path in corpus.values():
            archive.write(path, f"task1- SR/Matlab files/{path.name}")
        archive.writestr("__MACOSX/._resultsZAB_SR.mat", b"x")
        archive.writestr("task1- SR/readme.txt", b"x")
    files = {"results": tmp_path / "zuco.zip"}
    words = words_of("zuco", files)
    assert words.equals(words_of("zuco", corpus))
    assert responses_of("zuco", files, words, "GP").equals(
        responses_of("zuco", corpus, words, "GP")
    )
    cut = tmp_path / "cut.zip"
    data = bytearray(files["results"].read_bytes())
    data[300] ^= 0xFF
    cut.write_bytes(data)
    with pytest.raises(InputError, match="cut.zip is damaged"):
        words_of("zuco", {"results": cut})


def test_what_is_wrong_with_results_files_is_told(corpus, tmp_path):
    with pytest.raises(
        InputError, match=r"tasks: 'zuco1_RS' is not possible here; did you mean zuco1_SR\?"
    ):
        words_of("zuco", corpus, tasks=["zuco1_RS"])
    with pytest.raises(
        InputError, match="no results of zuco2_NR; the files are of: zuco1_NR, zuco1_SR"
    ):
        words_of("zuco", corpus, tasks=["zuco2_NR"])
    other = {"a": results(tmp_path / "resultsZKH_SR.mat", [[("x", (1, 1, "a", 1))]])}
    with pytest.raises(
        InputError, match="ZKH_SR.mat, sentence 1, word 1, GPT is 'a', expected a number"
    ):
        words_of("zuco", other)
    results(other["a"], [[("x", (1, -1, 1, 1))]])
    with pytest.raises(InputError, match="word 1, GD is -1, expected a time in ms"):
        words_of("zuco", other)
    results(other["a"], [REVIEW], drop="word")
    with pytest.raises(InputError, match="sentence 1: no field word; .*It has: content, rawData"):
        words_of("zuco", other)
    results(other["a"], [None, None])
    with pytest.raises(InputError, match="ZKH_SR.mat has no words in any sentence"):
        words_of("zuco", other)
    savemat(other["a"], {"sentences": 1})
    with pytest.raises(InputError, match="ZKH_SR.mat has no sentenceData"):
        words_of("zuco", other)
    renamed = {"a": results(tmp_path / "ZKH.mat", [REVIEW])}
    with pytest.raises(InputError, match="the name is not results<reader>_<SR, NR or TSR>.mat"):
        words_of("zuco", renamed)
    (tmp_path / "more").mkdir()
    twice = {"a": corpus["a"], "b": results(tmp_path / "more" / "resultsZAB_SR.mat", [REVIEW])}
    with pytest.raises(
        InputError, match="there is .*ZAB_SR.mat already, of the same reader and task"
    ):
        words_of("zuco", twice)
    hdf5 = tmp_path / "resultsYAC_NR.mat"
    hdf5.write_bytes(b"MATLAB 7.3 MAT-file, Platform".ljust(124) + b"\x00\x02IM" + bytes(400))
    with pytest.raises(InputError, match="is of MATLAB 7.3.*'sentenceData', '-v7'"):
        words_of("zuco", {"a": hdf5}, tasks=["zuco2_NR"])


def test_sentences_with_what_is_no_word_are_dropped_and_counted(tmp_path, capsys):
    odd = [("two words", (1, 1, 1, 1)), ("x", None)]
    files = {"a": results(tmp_path / "resultsZAB_SR.mat", [REVIEW, odd, [(" ", None)], ONE])}
    assert words_of("zuco", files).word.tolist() == ["Presents", "a", "case.", "Fun!"]
    told = capsys.readouterr().err
    assert (
        "2 sentences dropped, with a word that is none or several ('two words' in sentence 2"
        in told
    )


def test_means_have_no_go_past(tmp_path):
    path = tmp_path / "means.tsv"
    path.write_text("split\tsentence_num\tword\tfirst_pass_dur\ntrain\t1\tNo.\t9\n")
    words = words_of("zuco", {"t": path})
    with pytest.raises(InputError, match="item means, without GP; it has: FFD, FP, TFT"):
        responses_of("zuco", {"t": path}, words, "GP")


def test_a_file_that_scipy_crashes_on_is_damaged(corpus, monkeypatch):
    """Some damage makes scipy's reader, which is compiled, end its whole process."""
    monkeypatch.setattr(zuco_results, "_sentence_data", lambda *_: os.kill(os.getpid(), 9))
    with pytest.raises(InputError, match=r"resultsZAB_SR.mat is damaged \(scipy crashed on it\)"):
        words_of("zuco", corpus)


@pytest.mark.merge
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_damaged_results_file_is_an_error_or_reads_otherwise(tmp_path_factory, data):
    """A bit turned or bytes lost: an InputError, or data that hold the contract; no other error."""
    folder = tmp_path_factory.mktemp("damaged")
    path = results(folder / "resultsZAB_SR.mat", [REVIEW, FILM])
    whole = path.read_bytes()
    if data.draw(st.booleans()):
        path.write_bytes(whole[: data.draw(st.integers(6, len(whole) - 1))])
    else:
        changed = bytearray(whole)
        changed[data.draw(st.integers(6, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(changed)
    parser = parsers.parser("zuco")
    try:
        words = check_words(parser.words({"a": path}), "zuco")
        check_responses(parser.responses({"a": path}, words, "FP"), words, "zuco")
    except InputError as error:
        assert "resultsZAB_SR.mat" in str(error) or "zuco" in str(error)
