"""A training of seconds: its arguments, the losses that it leaves, and how it is killed."""

import csv
import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer, models

from recency.networks import train

ARCHITECTURE = {
    "family": "gpt_neox",
    "layers": 1,
    "heads": 2,
    "width": 16,
    "feed_forward": 32,
    "context": 16,
    "rotary_fraction": 0.25,
}
RECIPE = {
    "steps": 60,
    "batch_sequences": 4,
    "sequence_length": 16,
    "micro_batch": 2,
    "order": "shuffled",
    "learning_rate": 1e-2,
    "minimum_learning_rate": 1e-3,
    "warmup_steps": 3,
    "schedule": "as_worded",
    "betas": [0.9, 0.95],
    "epsilon": 1e-8,
    "weight_decay": 0.1,
    "clip": 1.0,
    "precision": "fp32",
    "checkpoints": [],
    "device": "cpu",
}
MIX = {"form": "linear", "slopes": "mix"}


def write_stream(folder, tokens, vocabulary=32):
    np.asarray(tokens, dtype="<u2").tofile(folder / "tokens.bin")
    info = {"tokens": len(tokens), "documents": 1, "dtype": "<u2", "vocabulary": vocabulary}
    info |= {"end_of_document": 0, "separators": 0}
    (folder / "tokens.json").write_text(json.dumps(info))
    return folder / "tokens.bin", folder / "tokens.json"


@pytest.fixture
def job(tmp_path):
    """Arguments of train.main on a stream with a pattern to learn."""
    rng = np.random.default_rng(0)
    start = rng.integers(0, 32, 400)
    tokens, info = write_stream(tmp_path, np.concatenate([(s + np.arange(8)) % 32 for s in start]))
    tokenizer = Tokenizer(models.WordLevel({"<|endoftext|>": 0, "a": 1}, unk_token="a"))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return {
        "tokens": tokens,
        "info": info,
        "tokenizer": tmp_path / "tokenizer.json",
        "out": tmp_path / "lm" / "config.json",
        "lm": "test",
        "architecture": ARCHITECTURE,
        "bias": MIX,
        "recipe": RECIPE,
        "seed": 1,
    }


@pytest.fixture
def clock(monkeypatch):
    """Let a step take half a second, and nothing else any time."""
    from recency.networks import training

    now, whole_step = [0.0], training.Training.step

    def step(run, number, report=None):
        now[0] += 0.5
        return whole_step(run, number)

    monkeypatch.setattr(training.Training, "step", step)
    monkeypatch.setattr(train.time, "monotonic", lambda: now[0])
    return now


def losses(job, column="loss_nats"):
    with open(job["out"].parent / "training.csv") as table:
        return [float(row[column]) for row in csv.DictReader(table) if row[column]]


class Killed(Exception):
    pass


def train_until_killed(job, last_step, monkeypatch):
    """Train, and die after `last_step`."""
    from recency.networks import training

    whole_step = training.Training.step

    def dying_step(run, number, *rest):
        if number > last_step:
            raise Killed
        return whole_step(run, number)

    with monkeypatch.context() as dying, pytest.raises(Killed):
        dying.setattr(training.Training, "step", dying_step)
        train.main(**job)


def assert_same_after_a_kill(job, expected, last_step, tmp_path, monkeypatch):
    """Train elsewhere, killed after `last_step` and begun again: the same bits as `expected`."""
    job["out"] = tmp_path / "again" / "config.json"
    train_until_killed(job, last_step, monkeypatch)
    train.main(**job)
    got = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert got[1] == expected[1]
    for name, weights in expected[0].items():
        np.testing.assert_array_equal(got[0][name], weights)
