"""The clock of the paper's regressions, on its smallest data: sizes, targets and figures."""

import csv
import json
import sys

import numpy as np
import pandas as pd
import pytest

from project import ROOT

pytestmark = pytest.mark.merge


@pytest.fixture
def clock(load_benchmark, monkeypatch):
    """Import the benchmark on one thread."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    return load_benchmark("regression_paper")


def test_every_response_of_the_paper_is_laid_out(clock, tmp_path, monkeypatch):
    made = {}
    monkeypatch.setattr(clock, "made_up", lambda *_: None)
    monkeypatch.setattr(
        clock,
        "make_observations",
        lambda where, subjects, words, rows, random: made.update({where.name: rows}),
    )
    targets = clock.lay_out(tmp_path, 1.0, (), ["Pythia", "dVM-I"], 1)
    assert len(targets) == 13 and all(len(fits) == 3 for fits in targets.values())
    with (ROOT / "data" / "published" / "clark2025_table1.csv").open() as file:
        total = list(csv.DictReader(file))[-1]
    for name in ("fit", "exploratory"):
        assert sum(rows[name] for rows in made.values()) == int(total[name])


def test_sizes_are_exact_and_partitions_the_papers(clock, tmp_path):
    words = pd.DataFrame({"sentence": np.repeat(np.arange(6), 5), "position": [1, 2, 3, 4, 5] * 6})
    words["bits"] = 3.0
    random = np.random.default_rng(0)
    clock.make_observations(tmp_path, 8, words, {"fit": 71, "exploratory": 33}, random)
    for name, many, remainders in (("fit", 71, {0, 1}), ("exploratory", 33, {2})):
        frame = pd.read_parquet(tmp_path / f"{name}.parquet")
        assert len(frame) == many and not frame.duplicated(["subject", "word_id"]).any()
        ranks = frame["subject"].str[1:].astype(int) + frame["word_id"] // 5
        assert set(ranks % 4) <= remainders
    with pytest.raises(SystemExit, match="61 observations are more than 60 cells"):
        clock.make_observations(tmp_path, 8, words, {"exploratory": 61}, random)


def test_every_figure_is_printed(clock, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(clock, "QUICK", ("ucl_spr.SPR", "ucl_eye_tracking.FP"))
    lay_out = clock.lay_out
    monkeypatch.setattr(
        clock,
        "lay_out",
        lambda folder, share, kept, lms, seed: lay_out(folder, 0.02, kept[:1], lms[:1], seed),
    )
    arguments = ["regression_paper.py", "--quick", "--out", str(tmp_path / "b")]
    monkeypatch.setattr(sys, "argv", arguments)
    clock.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert set(printed) >= {"benchmark", "hardware", "commit", "metrics", "targets"}
    assert set(printed["targets"]) <= set(printed["metrics"])
    assert printed["metrics"]["fits"] == 2
    assert printed["metrics"]["observations_fitted"] == 2 * round(0.02 * 139_300)
    assert 0 < printed["metrics"]["peak_memory_gib"] < 6
