"""The rehearsal on a GPU, itself rehearsed on the CPU: every part runs, and is cut off at its time."""

import json
import sys

import pytest
from project import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import gpu_rehearsal


@pytest.mark.merge
def test_every_cost_is_measured(tmp_path):
    found = gpu_rehearsal.costs("cpu", tmp_path)
    sizes = {
        f"training.{size}.{precision}"
        for size in ("narrow", "wide")
        for precision in ("bf16", "fp32")
    }
    assert found.keys() == sizes | {"reading", "fine_tuning"}
    assert all(1e-14 < value < 1e-7 for value in found.values())


def test_a_part_that_takes_too_long_is_cut_and_one_that_fails_is_named():
    """The first ends at the signal, as a training does, which saves its state."""
    waits = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); time.sleep(60)"
    assert gpu_rehearsal.run([sys.executable, "-c", waits], 1.0) == "cut"
    assert gpu_rehearsal.run([sys.executable, "-c", "raise SystemExit(3)"], 30) == "failed with 3"
    assert gpu_rehearsal.run([sys.executable, "-c", ""], 30) == "ok"


def test_results_are_there_after_each_part(tmp_path, monkeypatch, capsys):
    """The second part fails here; what the first found is stored, and the third runs."""
    ended = iter(["ok", "failed with 1", "cut", "ok"])
    stored = []

    def run(words, seconds):
        assert seconds == pytest.approx(60 * 12 * list(gpu_rehearsal.SHARES.values())[len(stored)])
        stored.append([json.loads(path.read_text()) for path in tmp_path.glob("gpu_rehearsal.*")])
        if len(stored) == 1:
            (tmp_path / ".costs.json").write_text(json.dumps({"reading": 2e-13}))
        return next(ended)

    monkeypatch.setattr(gpu_rehearsal, "run", run)
    monkeypatch.setattr(sys, "argv", ["x", "--device", "cpu", "--folder", str(tmp_path)])
    assert gpu_rehearsal.main() == 1
    assert [len(each) for each in stored] == [0, 1, 1, 1]
    metrics = json.loads(capsys.readouterr().out.splitlines()[-1])["metrics"]
    assert metrics["seconds_per_operation.reading"] == 2e-13
    assert [metrics[f"{part}.ended"] for part in gpu_rehearsal.SHARES] == [
        "ok",
        "failed with 1",
        "cut",
        "ok",
    ]
