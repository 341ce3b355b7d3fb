"""The benchmark of tokenizing, on little text: the same tokens as the library, every figure there."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.merge

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "tokens.py"


def test_every_figure_is_printed(monkeypatch, capsys, tmp_path):
    spec = importlib.util.spec_from_file_location("benchmark_tokens", FILE)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    text, tokenizer = benchmark.generated(tmp_path, 30)
    arguments = ["--quick", "--threads", "1", "--text", str(text), "--tokenizer", str(tokenizer)]
    monkeypatch.setattr(sys, "argv", ["tokens.py", *arguments, "--out", str(tmp_path / "b")])
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")  # the script sets it; this undoes it
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert printed["metrics"]["same_tokens"] is True
    assert set(printed["targets"]) <= set(printed["metrics"])
