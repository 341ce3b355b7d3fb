"""The rehearsal on a GPU, itself rehearsed on the CPU: every part runs, and is cut off at its time."""

import importlib
import json
import subprocess
import sys

import pytest
import torch

from project import ROOT


@pytest.fixture
def gpu_rehearsal(load_benchmark):
    return load_benchmark("gpu_rehearsal")


COSTS = {
    "training.narrow.fp32": 2.31e-14,
    "training.narrow.bf16": 1.5e-14,
    "training.wide.bf16": 4.1e-15,
    "reading": 9.7e-14,
    "fine_tuning": 2.6e-14,
}


@pytest.mark.merge
def test_every_cost_is_measured(gpu_rehearsal, tmp_path):
    assert not gpu_rehearsal.store_costs("cpu", tmp_path / "costs.json")
    found = json.loads((tmp_path / "costs.json").read_text())
    assert found.keys() == COSTS.keys()
    assert all(1e-14 < value < 1e-7 for value in found.values())


def test_a_cost_is_stored_before_the_next_is_measured(gpu_rehearsal, tmp_path, monkeypatch):
    """So that costs that were cut off, or one of which failed, keep the others."""
    out = tmp_path / "costs.json"
    before = []

    def second():
        before.append(json.loads(out.read_text()))
        raise RuntimeError("out of memory")

    costs = [("one", lambda: 1e-13), ("two", second), ("three", lambda: 3e-13)]
    monkeypatch.setattr(gpu_rehearsal, "costs", lambda device, folder: iter(costs))
    assert gpu_rehearsal.store_costs("cpu", out)
    assert before == [{"one": 1e-13}]
    assert json.loads(out.read_text()) == {"one": 1e-13, "three": 3e-13}


def stored(costs, device="cuda"):
    """Return a stored result with these costs."""
    metrics = {f"seconds_per_operation.{name}": value for name, value in costs.items()}
    return {"hardware": "NVIDIA X", "device": device, "metrics": metrics}


def test_the_cost_model_gets_its_column_from_a_stored_result(gpu_rehearsal, tmp_path, monkeypatch):
    """Rounded up; a whole training may be slower than its steps."""
    costs = COSTS | {"training.mixed_slopes": 1.7e-14}
    source = gpu_rehearsal.update(gpu_rehearsal.MODEL.read_text(encoding="utf-8"), stored(costs))
    path = tmp_path / "updated_cost_model.py"
    path.write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    model = vars(importlib.import_module("updated_cost_model"))
    assert model["GPU"] == "NVIDIA X"
    assert model["TRAINING_GPU"] == {
        "fp32": (1 / 4.3e13, 1 / 3.8e13),
        "bf16": (1 / 5.8e13, 1 / 2.4e14),
    }
    assert model["READING_GPU"] == 1 / 1.0e13
    assert model["COSTS"]["surprisal"].margin(1) == model["MARGIN"]


def test_a_column_is_refused_without_all_costs_and_from_a_cpu(gpu_rehearsal):
    few = {name: value for name, value in COSTS.items() if name != "reading"}
    with pytest.raises(SystemExit, match="not measured: reading"):
        gpu_rehearsal.update("", stored(few))
    with pytest.raises(SystemExit, match="a CPU"):
        gpu_rehearsal.update("", stored(COSTS, "cpu"))


@pytest.mark.merge
def test_the_code_for_a_gpu_runs_on_a_pretended_one():
    if torch.version.cuda is None:
        pytest.skip("this PyTorch was built without CUDA")
    words = [sys.executable, ROOT / "benchmarks" / "pretended_gpu.py"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.count("torch.float32 on cuda:0") == 4


@pytest.mark.long
def test_every_part_runs_on_a_cpu(gpu_rehearsal, tmp_path):
    """With the processes that a GPU's parts have; the trainings are planned."""
    words = [sys.executable, ROOT / "benchmarks" / "gpu_rehearsal.py", "--device", "cpu"]
    words += ["--minutes", "60", "--folder", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (kept,) = tmp_path.glob("gpu_rehearsal.*.json")
    metrics = json.loads(kept.read_text())["metrics"]
    assert {metrics[f"{part}.ended"] for part in gpu_rehearsal.SHARES} == {"ok"}
    assert len(list(tmp_path.glob("train.*.json"))) == 1


def test_a_part_that_takes_too_long_is_cut_and_one_that_fails_is_named(gpu_rehearsal):
    """The first ends at the signal, as a training does, which saves its state."""
    waits = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); time.sleep(60)"
    assert gpu_rehearsal.run([sys.executable, "-c", waits], 2.0) == "cut"
    assert gpu_rehearsal.run([sys.executable, "-c", "raise SystemExit(5)"], 60) == "failed with 5"
    assert gpu_rehearsal.run([sys.executable, "-c", ""], 60) == "ok"


def test_results_are_there_after_each_part(gpu_rehearsal, tmp_path, monkeypatch, capsys):
    """The second part fails here; what the first found is stored, and the third runs."""
    ended = iter(["ok", "failed with 1", "cut", "ok", "ok"])
    seen = []

    def run(words, seconds):
        assert seconds == pytest.approx(60 * 12 * list(gpu_rehearsal.SHARES.values())[len(seen)])
        seen.append([json.loads(path.read_text()) for path in tmp_path.glob("gpu_rehearsal.*")])
        if len(seen) == 1:
            (tmp_path / ".costs.json").write_text(json.dumps({"reading": 2e-13}))
        return next(ended)

    monkeypatch.setattr(gpu_rehearsal, "run", run)
    monkeypatch.setattr(sys, "argv", ["x", "--device", "cpu", "--folder", str(tmp_path)])
    assert gpu_rehearsal.main() == 1
    assert [len(each) for each in seen] == [0, 1, 1, 1, 1]
    metrics = json.loads(capsys.readouterr().out.splitlines()[-1])["metrics"]
    assert metrics["seconds_per_operation.reading"] == 2e-13
    assert [metrics[f"{part}.ended"] for part in gpu_rehearsal.SHARES] == [
        "ok",
        "failed with 1",
        "cut",
        "ok",
        "ok",
    ]


def test_a_training_that_was_cut_is_read_from_its_state_and_log(gpu_rehearsal, tmp_path):
    """Snakemake deletes its table of losses, an output of the job; the first rate is of a compilation."""
    assert gpu_rehearsal.trained("no_bias", tmp_path) == {}
    for folder in ("lms", "logs/train"):
        (tmp_path / folder).mkdir(parents=True)
    state = {
        "done": 2,
        "losses": [9.0, 8.5],
        "model": {"a": torch.zeros(3, 4), "b": torch.zeros(5)},
    }
    torch.save(state, tmp_path / "lms" / ".Pythia.state.pt")
    log = tmp_path / "logs" / "train" / "Pythia.log"
    log.write_text("train Pythia:   0%, 700 tokens/s, 9:27:36 left\n")
    expected = {"no_bias.steps": 2, "no_bias.loss_nats": 8.5}
    assert gpu_rehearsal.trained("no_bias", tmp_path) == expected
    log.write_text(log.read_text() + "train Pythia:   4%, 981,150 tokens/s, 4:17 left\n")
    expected |= {
        "no_bias.tokens_per_second": 981_150,
        "seconds_per_operation.training.no_bias": 1 / (6 * 17 * 981_150),
    }
    assert gpu_rehearsal.trained("no_bias", tmp_path) == expected
