"""The benchmark of training steps, on the smallest sizes: every figure is there."""

import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(load_benchmark, monkeypatch, capsys, tmp_path):
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("no /proc here to measure memory by")
    benchmark = load_benchmark("train")
    sizes = {("cpu", True): (16, 2, 1, 1, 1)}
    monkeypatch.setattr(benchmark, "SIZES", sizes)
    monkeypatch.setattr(sys.modules["contenders"], "VOCABULARY", 2_000)
    arguments = ["--quick", "--device", "cpu", "--threads", "1", "--out", str(tmp_path / "b")]
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert set(printed) >= {"benchmark", "hardware", "commit", "metrics", "targets"}
    metrics = printed["metrics"]
    for precision, near in (("fp32", 2e-3), ("bf16", 0.1)):
        assert metrics[f"{precision}.tokens_per_second"] > 0
        assert metrics[f"{precision}.peak_mib"] > 10  # weights, gradients, optimiser
        for peer in ("loop", "lce"):  # they train the same network on the same tokens
            assert abs(metrics[f"{precision}.first_loss_minus_{peer}"]) < near
        assert metrics[f"{precision}.fastest"] in ("loop", "lce", "trainer")
        assert metrics[f"{precision}.share_of_peak"] > 0
    assert benchmark.flop_per_token(2048) == pytest.approx(93e6, rel=0.1)
