"""A training that is told to end saves the step that it has done, and goes on from there bit by bit."""

import os
import re
import signal

import numpy as np
import pytest
from safetensors.numpy import load_file

from recency.errors import InputError
from recency.networks import train, training
from training_job import RECIPE, losses

pytestmark = pytest.mark.merge


def signalled(monkeypatch, number, at):
    """Let a signal come to this process while step `at` of a training computes its first gradients."""
    whole = training.Training.loss_sum

    def loss_sum(run, inputs, targets):
        loss = whole(run, inputs, targets)
        loss_sum.calls += 1
        if loss_sum.calls == 2 * at - 1:  # two micro-batches a step
            os.kill(os.getpid(), number)
        return loss

    loss_sum.calls = 0
    monkeypatch.setattr(training.Training, "loss_sum", loss_sum)


@pytest.mark.parametrize(
    ("number", "at"), [(signal.SIGTERM, 1), (signal.SIGINT, 34), (signal.SIGHUP, 60)]
)
def test_nothing_done_is_lost(job, tmp_path, monkeypatch, number, at, capsys):
    """No state is older than ten minutes, and this training takes a second: it would have none."""
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)
    job["out"] = tmp_path / "again" / "config.json"
    before = signal.getsignal(number)
    with monkeypatch.context() as patch:
        signalled(patch, number, at)
        message = (
            f"ended by {number.name} after step {at - 1} of 60; its state is saved, and the same"
        )
        with pytest.raises(InputError, match=re.escape(message)):
            train.main(**job)
    assert f"{number.name}: the state is saved" in capsys.readouterr().err
    assert losses(job) == expected[1][: at - 1]
    assert signal.getsignal(number) == before
    steps, step = [], training.Training.step
    monkeypatch.setattr(
        training.Training, "step", lambda run, n, *rest: steps.append(n) or step(run, n, *rest)
    )
    train.main(**job)
    assert steps == list(range(at, 61)) and losses(job) == expected[1]
    for name, weights in load_file(job["out"].parent / "model.safetensors").items():
        np.testing.assert_array_equal(weights, expected[0][name])


def test_a_signal_in_the_last_micro_batch_of_the_last_step_is_too_late(job, monkeypatch):
    job["recipe"] = RECIPE | {"steps": 3, "micro_batch": 4}
    signalled(monkeypatch, signal.SIGTERM, 2)  # one micro-batch a step: the third
    train.main(**job)
    assert len(losses(job)) == 3
