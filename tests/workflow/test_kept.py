"""A job of several parts makes what is new and nothing else, and never uses what is stale."""

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

from recency import stored_parts
from recency.errors import InputError
from recency.regression import fits
from recency.scoring import scored
from recency.scoring.lm_spec import LMSpec


@pytest.fixture
def lm(finished, tmp_path):
    """Return a folder with a small network and the words of two datasets of the finished study."""
    results = finished / "results" / "tiny" / "cores"
    shutil.copytree(results / "lms" / "Pythia", tmp_path / "lm")
    for name in ("simulated_spr", "simulated_eye_tracking"):
        shutil.copy(results / "datasets" / name / "words.parquet", tmp_path / f"{name}.words")
    return tmp_path


@pytest.fixture
def counted(monkeypatch):
    """Return the list that the number of words of each text that is scored is added to."""
    from recency.scoring import surprisal

    calls, score = [], surprisal.score_words

    def counting(words, *arguments, **settings):
        calls.append(len(words))
        return score(words, *arguments, **settings)

    monkeypatch.setattr(surprisal, "score_words", counting)
    return calls


def score(folder, *datasets, code="1", **settings):
    """Score datasets as the rule does: it deletes the outputs of a job that runs again."""
    stored_parts.content.cache_clear()
    out = [folder / "out" / f"{name}.parquet" for name in datasets]
    ledger = [folder / "out" / f"{name}.ledger.csv" for name in datasets]
    for path in (*out, *ledger):
        path.unlink(missing_ok=True)
    lm = LMSpec("Pythia", folder / "lm", folder / "lm" / "tokenizer.json", **settings)
    scored.main(
        [folder / f"{name}.words" for name in datasets],
        lm,
        out,
        ledger,
        datasets,
        {"recency.scoring": code},
        measures=[],
        context=[],
    )
    return [path.read_bytes() for path in (*out, *ledger)]


def change_a_word(folder):
    words = pd.read_parquet(folder / "simulated_spr.words")
    words.loc[0, "word"] = "Otherwise"
    words.to_parquet(folder / "simulated_spr.words")


def change_a_weight(folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "lm" / "model.safetensors")
    weights[min(weights)].view(-1)[0] += 1
    save_file(weights, folder / "lm" / "model.safetensors", {"format": "pt"})


def test_what_is_scored_again(lm, counted, capsys):
    """A word, a weight, a setting, a line of code; and a dataset that is new."""
    (words,) = {len(pd.read_parquet(lm / "simulated_spr.words"))}
    score(lm, "simulated_spr")
    first = score(lm, "simulated_spr", "simulated_eye_tracking")
    assert len(counted) == 2, "the first dataset was kept"
    assert "1 of 2 are stored from an earlier run; left: simulated_eye_tracking" in (
        capsys.readouterr().err
    )
    assert score(lm, "simulated_spr", "simulated_eye_tracking") == first and len(counted) == 2

    change_a_word(lm)
    second = score(lm, "simulated_spr", "simulated_eye_tracking")
    assert counted[2:] == [words] and second[0] != first[0] and second[1] == first[1]
    change_a_weight(lm)
    third = score(lm, "simulated_spr", "simulated_eye_tracking")
    assert len(counted) == 5 and third[0] != second[0]
    for number, change in enumerate(({"bos": False}, {"scoring": {"first_word": "rest"}}), 1):
        score(lm, "simulated_spr", "simulated_eye_tracking", **{"bos": False} | change)
        assert len(counted) == 5 + 2 * number
    before = len(counted)
    score(lm, "simulated_spr", code="2")
    assert len(counted) == before + 1


def test_the_same_words_are_scored_once(lm, counted):
    shutil.copy(lm / "simulated_spr.words", lm / "maze.words")
    a, b, *ledgers = score(lm, "simulated_spr", "maze")
    assert len(counted) == 1 and a == b and ledgers[0] == ledgers[1]
    assert (lm / "out" / "maze.parquet").stat().st_ino != (
        lm / "out" / "simulated_spr.parquet"
    ).stat().st_ino


def test_what_a_killed_job_finished_is_kept(lm, counted, monkeypatch):
    """An error names the dataset; the one before it isn't scored again."""
    words = pd.read_parquet(lm / "simulated_eye_tracking.words")
    words.loc[3, "word"] = None
    good = (lm / "simulated_eye_tracking.words").read_bytes()
    words.to_parquet(lm / "simulated_eye_tracking.words")
    with pytest.raises(InputError, match="^simulated_eye_tracking: "):
        score(lm, "simulated_spr", "simulated_eye_tracking")
    (lm / "simulated_eye_tracking.words").write_bytes(good)
    score(lm, "simulated_spr", "simulated_eye_tracking")
    assert len(counted) == 3


def test_a_kept_file_that_was_written_to_is_not_used(lm, counted):
    (first, _) = score(lm, "simulated_spr")
    with (lm / "out" / "simulated_spr.parquet").open(
        "r+b"
    ) as file:  # the kept one is the same file
        file.write(b"xxxx")
    assert score(lm, "simulated_spr")[0] == first and len(counted) == 2


def test_a_file_has_one_entry(lm):
    for stride in (8, 16, 32):
        score(lm, "simulated_spr", stride=stride)
    found = sorted(
        path.name for path in (lm / "out" / stored_parts.FOLDER).rglob("*") if path.is_file()
    )
    assert found == ["entry.json", "simulated_spr.ledger.csv", "simulated_spr.parquet"]


def test_disks_without_links(lm, counted, monkeypatch):
    def refuse(*paths):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    first = score(lm, "simulated_spr")
    assert score(lm, "simulated_spr") == first and len(counted) == 1


# Regressions: what one part is made from is the same question, so a fit is a note of its inputs.


@pytest.fixture
def noted(monkeypatch, tmp_path):
    """Fit by writing down which observations were read; return the file that counts the fits."""
    from recency.regression import fit

    count = tmp_path / "fits.txt"

    def note(inputs, out, out_observations, design, model, **rest):
        text = Path(inputs.fit).read_text()
        if text == "bad":
            raise InputError("row 3: no time")
        Path(out).write_text(json.dumps([text, design, model, sorted(inputs.others)]))
        Path(out_observations).write_text(text)
        with count.open("a") as file:  # also from other processes
            file.write(f"{text}\n")

    monkeypatch.setattr(fit, "main", note)
    monkeypatch.setattr(fits, "load", lambda in_r: None)
    return count


def regress(folder, *responses, lm="Pythia", processes=1, code="1", design="ols"):
    stored_parts.content.cache_clear()
    (folder / "words").write_text("words")
    files, named = {}, []
    for number, name in enumerate(responses):
        files |= {f"words_{number}": folder / "words", f"fit_{number}": folder / f"{name}.fit"}
        named.append({"name": name, "design": {"engine": design}, "others": []})
    out = [folder / f"{name}.{lm}.json" for name in responses]
    rows = [folder / f"{name}.{lm}.parquet" for name in responses]
    for path in (*out, *rows):
        path.unlink(missing_ok=True)
    fits.main(files, out, rows, named, lm, "full", {"crosslmm": code}, processes)
    return [path.read_bytes() for path in (*out, *rows)]


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_fitted_again(noted, tmp_path, processes):
    """A response, an LM, other observations, a design, code; in one process and in several."""

    def fitted(*responses, **settings):
        noted.write_text("")
        regress(tmp_path, *responses, processes=processes, **settings)
        return sorted(noted.read_text().split())

    for name in "abc":
        (tmp_path / f"{name}.fit").write_text(name)
    assert fitted("a", "b") == ["a", "b"] and fitted("a", "b") == []
    assert fitted("a", "b", "c") == ["c"]
    assert fitted("a", "b", "c", lm="dVM") == ["a", "b", "c"]
    assert fitted("a", "b", "c") == []
    (tmp_path / "b.fit").write_text("other")
    assert fitted("a", "b", "c") == ["other"]
    assert fitted("a", "b", "c", code="2") == ["a", "c", "other"]
    assert fitted("a", "c", code="2", design="lme4") == ["a", "c"]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_names_the_response_and_loses_no_other(noted, tmp_path, processes):
    for name, text in {"good": "good observations", "broken": "bad"}.items():
        (tmp_path / f"{name}.fit").write_text(text)
    with pytest.raises(InputError, match="^broken: row 3: no time"):
        regress(tmp_path, "good", "broken", processes=processes)
    (tmp_path / "broken.fit").write_text("mended")
    noted.write_text("")
    regress(tmp_path, "good", "broken", processes=processes)
    assert noted.read_text() == "mended\n"
