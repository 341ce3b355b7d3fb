"""The benchmark of what jobs cost by size: every kind of job has its unit, its cost and its check."""

import json
import sys

import pytest

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(load_benchmark, monkeypatch, capsys):
    benchmark = load_benchmark("scaling")
    few = {"tokenize": ("words", 1000), "regression": ("observations", 1000)}
    monkeypatch.setattr(benchmark, "SIZES", benchmark.SIZES | few)
    made = benchmark.jobs

    def some(folder):
        return {kind: prepare for kind, prepare in made(folder).items() if kind in few}

    monkeypatch.setattr(benchmark, "jobs", some)
    monkeypatch.setattr(sys, "argv", ["scaling.py", "--quick"])
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(printed["targets"]) <= set(printed["metrics"])
    for figures in printed["metrics"].values():
        assert set(figures) == set(few)
    assert all(
        isinstance(each, float) for each in printed["metrics"]["measured_over_predicted"].values()
    )
