"""The benchmark of tokenizing, on little text: the same tokens as the library, every figure there."""

import json
import sys

import pytest

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(load_benchmark, monkeypatch, capsys, tmp_path):
    benchmark = load_benchmark("tokens")
    text, tokenizer = benchmark.generated(tmp_path, 30)
    arguments = ["--quick", "--threads", "1", "--text", str(text), "--tokenizer", str(tokenizer)]
    monkeypatch.setattr(sys, "argv", ["tokens.py", *arguments, "--out", str(tmp_path / "b")])
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")  # the script sets it; this undoes it
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert printed["metrics"]["same_tokens"] is True
    assert set(printed["targets"]) <= set(printed["metrics"])
