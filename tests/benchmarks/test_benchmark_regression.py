"""The benchmark of the regressions, on the smallest data: every figure is there."""

import json
import sys

import pytest

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(load_benchmark, monkeypatch, capsys, tmp_path):
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # the module sets them; this undoes it
    benchmark = load_benchmark("regression")
    shapes = {
        name: benchmark.Shape(1_500, 12, 15, ("position",), name == "hard")
        for name in ("natural_stories", "provo", "hard")
    }
    shapes["by_subject"] = benchmark.Shape(1_500, 12, 15, ("position",), is_crossed=False)
    monkeypatch.setattr(benchmark, "QUICK", shapes)
    monkeypatch.setattr(sys, "argv", ["regression.py", "--quick", "--out", str(tmp_path / "b")])
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert set(printed) >= {"benchmark", "hardware", "commit", "metrics", "targets"}
    assert set(printed["targets"]) <= set(printed["metrics"])
    for name in shapes:
        assert printed["metrics"][f"{name}_loglik_minus_lmer"] > -1e-3
        assert printed["metrics"][f"{name}_fit_ratio_vs_fastest"] > 0
        assert printed["metrics"][f"{name}_difference_from_lme4"] < 1e-5
    too_many = benchmark.Shape(10_000, 2, 4, ("position",))
    with pytest.raises(SystemExit, match="more than 2"):
        benchmark.simulate(too_many, 1)
