"""One mean response a word: de Varda & Marelli's corpora, and times and ERPs of UCL's sentences."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest

from parsing import responses_of, sizes, words_of, write
from readingtimes import parsers
from readingtimes.contracts import check_responses, response_column
from readingtimes.errors import InputError


@pytest.mark.parametrize(
    ("name", "measure", "texts", "expected"),
    [
        ("meco", "FP", True, (12, 98, 2108, 1, 2096)),
        ("ucl", "FP", False, (205, 205, 1931, 1, 1726)),
        ("ucl_spr", "SPR", False, (205, 205, 1931, 1, 1726)),
        ("provo", "FP", True, (55, 131, 2714, 1, 2659)),
        ("brown", "SPR", False, (13, 450, 7188, 1, 6738)),
        ("natstor", "SPR", False, (497, 497, 10_256, 1, 9759)),
    ],
)
def test_devarda_and_marelli(shared_data, name, measure, texts, expected, capsys):
    files = {"words": shared_data / "devarda_marelli2024" / f"{name}.tsv.gz"}
    words = words_of("devarda_marelli2024", files, texts=texts)
    found = responses_of("devarda_marelli2024", files, words, measure)
    assert sizes(words, found) == expected
    assert f"{expected[2] - expected[4]:,} of {expected[2]:,} words have no time" in (
        capsys.readouterr().err
    )


def released(folder, **changed):
    """Write a pickle as the release's: lists of words, and values for all but the first of each list."""
    ucl = {
        "sent": [["Anne", "lost", '"control"'], ["He", "ran."]],
        "freq": [np.float64(9.5), np.float64(8.25), np.float64(0)],
        "len": [4, 7, 4],
        "fp": np.array([250.5, 218.25, 1 / 3]),
    }
    path = folder / "data.pkl"
    path.write_bytes(pickle.dumps({"meco": {}, "ucl": ucl | changed}, protocol=4))
    return path


def test_the_released_pickle_is_read_as_a_table_is(tmp_path):
    files = {"words": released(tmp_path)}
    words = words_of("devarda_marelli2024", files, texts=False, corpus="ucl")
    found = responses_of("devarda_marelli2024", files, words, "FP", corpus="ucl")
    assert list(words.word) == ["Anne", "lost", '"control"', "He", "ran."]
    assert list(words.given_length.dropna()) == [4, 7, 4]
    assert list(words.log_frequency.dropna()) == [9.5, 8.25, 0]
    assert list(found.time_ms) == [250.5, 218.25, 1 / 3] and list(found.word_id) == [1, 2, 4]


@pytest.mark.parametrize(
    ("made", "corpus", "said"),
    [
        (lambda folder: released(folder), "ulc", "did you mean 'ucl'"),
        (lambda folder: released(folder, fp=np.array([1.0])), "ucl", "1 values of fp for 3 words"),
        (lambda folder: released(folder), "meco", "lacks fp, freq, len, sent"),
        (lambda folder: pickled(folder, [1, 2]), "ucl", "no corpus is called"),
        (lambda folder: pickled(folder, Runs()), "ucl", "it would import"),
        (lambda folder: pickled(folder, np.array([Runs()], dtype=object)), "ucl", "plain data"),
        (lambda folder: cut(released(folder)), "ucl", "not a pickle of plain data"),
    ],
)
def test_a_pickle_of_anything_else_is_refused_and_nothing_is_run(
    tmp_path, made, corpus, said, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        words_of("devarda_marelli2024", {"words": made(tmp_path)}, corpus=corpus)
    assert not (tmp_path / "run").exists()


class Runs:
    """What a hostile pickle does: run a command where it is loaded."""

    def __reduce__(self):
        return os.system, ("touch run",)


def pickled(folder, content):
    path = folder / "data.pkl"
    path.write_bytes(pickle.dumps(content, protocol=4))
    return path


def cut(path):
    path.write_bytes(path.read_bytes()[:-40])
    return path


def test_item_means_in_disorder_are_refused(tmp_path):
    text = "sent_id\tword_pos\tword\trt\n0\t1\tIt\tNA\n0\t2\tis.\t300\n1\t2\tOh\t250\n"
    with pytest.raises(InputError, match="line 4: word 2 of 1 does not follow the word before"):
        words_of("devarda_marelli2024", {"t": write(tmp_path / "t.tsv", text)})


def test_the_psychometric_set(shared_data):
    files = {"measures": shared_data / "devarda2024" / "all_measures.human.tsv.gz"}
    words = words_of("devarda2024", files)
    parser = parsers.parser("devarda2024")
    found = {name: responses_of("devarda2024", files, words, name) for name in parser.MEASURES}
    assert len(found) == 11
    for name, frame in found.items():
        assert sizes(words, frame) == (205, 205, 1931, 1, 1726)
        assert not frame.word_id.isin(words.word_id[words.position == 1]).any()
        erp = name in ("ELAN", "LAN", "N400", "EPNP", "P600", "PNP")
        assert response_column(frame, name) == ("amplitude_uv" if erp else "time_ms")
        assert ("time_ms" in frame) != erp
    assert found["N400"].amplitude_uv.mean() == pytest.approx(-0.1136, abs=1e-4)
    for short, long in [("FFD", "GD"), ("GD", "RB"), ("RB", "GP")]:
        assert (found[short].time_ms <= found[long].time_ms + 1e-9).all()


def test_a_response_is_a_time_or_an_amplitude():
    words = pd.DataFrame({"word_id": [0], "item": ["a"]})
    frame = pd.DataFrame({"subject": ["mean"], "word_id": [0], "amplitude_uv": [-2.5]})
    assert check_responses(frame, words, "mine").amplitude_uv.tolist() == [-2.5]
    with pytest.raises(
        InputError, match="one of time_ms, amplitude_uv, response is needed, not time_ms and"
    ):
        check_responses(frame.assign(time_ms=1.0), words, "mine")
    with pytest.raises(InputError, match="none of them; there are subject, word_id"):
        check_responses(frame.drop(columns="amplitude_uv"), words, "mine")
    with pytest.raises(InputError, match="inf of mean to word 0 is not a finite amplitude"):
        check_responses(frame.assign(amplitude_uv=np.inf), words, "mine")
