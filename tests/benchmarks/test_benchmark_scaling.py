"""The benchmark of what jobs cost by size: every kind of job has its unit, its cost and its check."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.merge

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "scaling.py"


def test_every_figure_is_printed(monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("benchmark_scaling", FILE)
    benchmark = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec.loader.exec_module(benchmark)
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
