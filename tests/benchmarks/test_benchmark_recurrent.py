"""The benchmark of recurrent LMs, on the smallest sizes: every figure is there."""

import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(load_benchmark, monkeypatch, capsys, tmp_path):
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("no /proc here to measure memory by")
    benchmark = load_benchmark("recurrent")
    monkeypatch.setattr(benchmark, "VOCABULARIES", (300,))
    monkeypatch.setattr(benchmark, "EMBEDDING", 8)
    monkeypatch.setattr(benchmark, "WIDTH", 16)
    monkeypatch.setattr(benchmark, "SIZES", {True: (2, 3, 1, 2)})
    monkeypatch.setattr(benchmark, "SCANS", {True: ((2, 4, 3), 1)})
    monkeypatch.setattr(benchmark, "MEMORIES", {True: (2, 3, 300, 1)})
    arguments = ["--quick", "--threads", "1", "--out", str(tmp_path / "b")]
    monkeypatch.setattr(sys, "argv", ["recurrent.py", *arguments])
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    metrics = printed["metrics"]
    asked = {target.replace("10000", "300").replace("50304", "300") for target in benchmark.TARGETS}
    assert asked <= set(metrics)
    assert metrics["300.words_per_processor_second"] > 0
    assert metrics["300.peak_mib"] > 0
    # ours and torch's train the same LSTM on the same words
    assert abs(metrics["300.first_loss_minus_torch"]) < 1e-4
    assert 0 <= metrics["300.share_of_peak"] < 1  # rounded: of so small a network nearly nothing
    for precision in ("fp32", "bf16"):
        rates = [metrics[f"memories.{precision}.{name}"] for name in ("FOFE-units", "LSTM", "GRU")]
        assert 0 < metrics[f"memories.{precision}.slowest"] <= min(rates)
        assert max(rates) < metrics[f"memories.{precision}.floor"]
