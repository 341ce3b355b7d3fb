"""The benchmark of masked LMs, on the smallest sizes: every figure is there."""

import json
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(load_benchmark, monkeypatch, capsys, tmp_path):
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("no /proc here to measure memory by")
    benchmark = load_benchmark("masked")
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
        assert 0 <= metrics[f"{precision}.300.share_of_peak"] < 1
        for peer in ("loop", "sparse"):
            assert metrics[f"{precision}.300.ratio_vs_{peer}"] > 0
    # All contenders train the same network on the same rows: their first losses are one.
    recipe = benchmark.RECIPE | {"precision": "fp32", "sequence_length": 16}
    recipe |= {"batch_sequences": 2, "micro_batch": 2}
    made = benchmark.contenders(recipe, 300)
    # Two operations a weight forward, four backward; the head at 15 % of the places; attention.
    model = made["loop"]().model
    weights = {
        part: sum(m.weight.numel() for m in module.modules() if isinstance(m, torch.nn.Linear))
        for part, module in (("body", model.roberta), ("head", model.lm_head))
    }
    counted = 6 * (weights["body"] + 0.15 * weights["head"]) + 3 * 2 * 2 * 16 * 32
    assert benchmark.flop_per_token(16, 300) == pytest.approx(counted)
    first = [made[name]().steps(1) for name in ("ours", "loop", "sparse")]
    assert first == pytest.approx([first[0]] * 3, rel=1e-4)
