"""The benchmark of a network's inside, on networks of a small shape: every figure is there."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.merge

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "internals.py"


def test_every_figure_is_printed(monkeypatch, capsys, tmp_path):
    spec = importlib.util.spec_from_file_location("benchmark_internals", FILE)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    import surprisal

    made = surprisal.network_of
    monkeypatch.setattr(surprisal, "network_of", lambda shape: made("small"))
    drawn = surprisal.texts_of
    monkeypatch.setattr(surprisal, "texts_of", lambda words, texts, length: drawn(words, 1, 20))
    monkeypatch.setattr(sys, "argv", ["internals.py", "--quick", "--out", str(tmp_path / "b")])
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert set(printed["targets"]) <= set(printed["metrics"]) and len(printed["metrics"]) == 18
    assert min(printed["metrics"].values()) > 0
