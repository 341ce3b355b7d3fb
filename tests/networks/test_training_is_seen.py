"""What a training shows while it runs: progress, states, losses, and the loss on held-out text."""

import pytest
from safetensors.numpy import load_file

from peers import peer
from recency.networks import train
from recency.networks.stream import TokenStream
from training_job import RECIPE, assert_same_after_a_kill, losses, train_until_killed


@pytest.mark.merge
@pytest.mark.parametrize("cost, written", [(0.1, [20, 40, 60]), (1, [20, 60]), (1e6, [20, 60])])
def test_saving_takes_a_small_part_of_the_time(job, monkeypatch, clock, cost, written):
    """Looked at every 10 s; a state whose writing took 1 s is next written 20 s later."""
    from recency.networks import training

    saved, save = [], training.save

    def slow_save(path, specification, run, done, curve):
        save(path, specification, run, done, curve)
        saved.append(done)
        clock[0] += cost

    monkeypatch.setattr(training, "save", slow_save)
    train.main(**job)
    assert saved == written


def test_no_state_is_older_than_ten_minutes(job, monkeypatch, clock):
    """However long writing one takes."""
    from recency.networks import training

    saved, save, step = [], training.save, training.Training.step

    def slow_save(*arguments):
        save(*arguments)
        saved.append(arguments[3])
        clock[0] += 1e6

    def slow_step(run, number, *rest):
        clock[0] += 100
        return step(run, number)

    monkeypatch.setattr(training, "save", slow_save)
    monkeypatch.setattr(training.Training, "step", slow_step)
    train.main(**job | {"recipe": RECIPE | {"steps": 14}})
    assert saved == [1, 7, 13, 14]


def test_losses_are_written_as_they_come(job, monkeypatch, clock):
    train_until_killed(job, 45, monkeypatch)
    assert len(losses(job)) == 40


def test_progress_is_said_within_a_step(job, capsys, monkeypatch):
    now = iter(range(0, 10_000, 6))
    monkeypatch.setattr(train.time, "monotonic", lambda: next(now))
    train.main(**job | {"recipe": RECIPE | {"steps": 1, "batch_sequences": 8}})
    assert "train test:  50%" in capsys.readouterr().err


VALIDATED = RECIPE | {"validation": {"tokens": 400, "every": 25}}


@pytest.mark.merge
def test_validation_loss_is_that_of_text_that_is_held_out(job, tmp_path, monkeypatch, clock):
    """The loss on the held-out rows by transformers' own, and the same after a kill."""
    import torch

    from recency.networks import checkpoints

    job["recipe"] = VALIDATED
    train.main(**job)
    stream = TokenStream(job["tokens"], job["info"], 16, "shuffled", 1, 400)
    inputs, targets = stream.validation_batch(0, 1000)
    network = checkpoints.load(job["out"].parent)
    with torch.no_grad():
        logits = network(input_ids=inputs).logits.double()
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    found = losses(job, "validation_nats")
    assert len(found) == 3 and found[0] > found[2]  # of steps 25, 50 and 60
    assert found[2] == pytest.approx(expected.item(), rel=1e-5)
    weights = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert_same_after_a_kill(job, weights, 33, tmp_path, monkeypatch)
    assert losses(job, "validation_nats") == found


@peer("tensorboard")
def test_tensorboards_files_are_written_where_it_is_asked_for(job):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train.main(**job | {"recipe": VALIDATED, "tensorboard": True})
    events = EventAccumulator(str(job["out"].parent / "tensorboard"))
    events.Reload()
    assert [e.value for e in events.Scalars("loss/training")] == pytest.approx(losses(job))
    assert [e.step for e in events.Scalars("loss/validation")] == [25, 50, 60]
