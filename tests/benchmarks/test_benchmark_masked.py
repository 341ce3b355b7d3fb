"""The benchmark of masked LMs, on the smallest sizes: every figure is there."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "masked.py"


def test_every_figure_is_printed(monkeypatch, capsys, tmp_path):
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("no /proc here to measure memory by")
    spec = importlib.util.spec_from_file_location("benchmark_masked", FILE)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    monkeypatch.setattr(benchmark, "SIZES", {True: (2, 16, 1, 1)})
    shape = {"family": "roberta", "layers": 1, "heads": 2, "width": 32, "feed_forward": 64}
    monkeypatch.setattr(benchmark, "SHAPE", shape)
    arguments = ["--quick", "--threads", "1", "--vocabulary", "300", "--out", str(tmp_path / "b")]
    monkeypatch.setattr(sys, "argv", ["masked.py", *arguments])
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    metrics = printed["metrics"]
    for precision in ("fp32", "bf16"):
        assert metrics[f"{precision}.300.tokens_per_second"] > 0
        for peer in ("loop", "sparse"):
            assert metrics[f"{precision}.300.ratio_vs_{peer}"] > 0
    # All contenders train the same network on the same rows: their first losses are one.
    recipe = benchmark.RECIPE | {"precision": "fp32", "sequence_length": 16}
    recipe |= {"batch_sequences": 2, "micro_batch": 2}
    made = benchmark.contenders(recipe, 300)
    first = [made[name]().steps(1) for name in ("ours", "loop", "sparse")]
    assert first == pytest.approx([first[0]] * 3, rel=1e-4)
