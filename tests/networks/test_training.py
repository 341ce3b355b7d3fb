"""Training: the schedule, the order of the tokens, and that a killed job goes on bit by bit."""

import csv
import errno
import json
import os
import shutil

import numpy as np
import pytest
from conftest import needs_compiler
from safetensors.numpy import load_file
from tokenizers import Tokenizer, models

from recency.errors import InputError
from recency.networks import train
from recency.networks.schedule import learning_rate
from recency.networks.stream import TokenStream

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


def test_learns_and_writes_a_checkpoint(job):
    train.main(**job)
    loss = losses(job)
    assert len(loss) == 60
    assert loss[0] == pytest.approx(np.log(128), abs=0.3)  # 32 entries, padded to 128
    assert np.mean(loss[-5:]) < 1.5


def test_lost_outputs_of_a_finished_job_cost_no_training(job, monkeypatch):
    train.main(**job)
    expected = (job["out"].parent / "model.safetensors").read_bytes()
    shutil.rmtree(job["out"].parent)
    from recency.networks import training

    monkeypatch.setattr(training.Training, "step", None)  # any step would fail
    train.main(**job)
    assert (job["out"].parent / "model.safetensors").read_bytes() == expected


def test_a_finished_state_of_another_specification_is_passed_over(job):
    train.main(**job)
    job["recipe"] = RECIPE | {"steps": 20}
    train.main(**job)
    assert len(losses(job)) == 20


def test_a_finished_state_of_other_tokens_is_passed_over(job):
    """As many tokens, with the same description, but others."""
    train.main(**job)
    before = losses(job)
    tokens = np.fromfile(job["tokens"], "<u2")
    tokens[::-1].tofile(job["tokens"])
    train.main(**job)
    assert losses(job) != before


@pytest.mark.parametrize("how", ["in the middle", "in the kernel"])
def test_a_full_disk_leaves_the_state_before(job, tmp_path, monkeypatch, clock, how):
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)
    import torch

    from recency.networks import training

    job["out"] = tmp_path / "again" / "config.json"
    state = tmp_path / ".again.state.pt"
    save, torch_save, saved = training.save, torch.save, []

    def half(content, file):
        torch_save(content, file)
        file.truncate(file.tell() // 2)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def second_meets_a_full_disk(path, *rest):
        if saved:
            if how == "in the middle":
                monkeypatch.setattr(torch, "save", half)
            else:  # a device that has no room for anything
                path.with_name(f".{path.stem}.{os.getpid()}.pt").symlink_to("/dev/full")
        saved.append(path)
        save(path, *rest)

    monkeypatch.setattr(training, "save", second_meets_a_full_disk)
    with pytest.raises(
        InputError, match=r"state\.pt was not written: the disk is full.*untouched; make"
    ):
        train.main(**job)
    assert len(saved) == 2 and torch.load(state, weights_only=True)["done"] == 20
    assert [path.name for path in tmp_path.glob(".again*")] == [state.name]
    monkeypatch.setattr(training, "save", save)
    monkeypatch.setattr(torch, "save", torch_save)
    steps = []
    whole_step = training.Training.step
    monkeypatch.setattr(
        training.Training, "step", lambda run, n, *rest: steps.append(n) or whole_step(run, n)
    )
    train.main(**job)
    assert steps[0] == 21
    got = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert got[1] == expected[1]
    for name, weights in expected[0].items():
        np.testing.assert_array_equal(got[0][name], weights)


class Killed(Exception):
    pass


def assert_same_after_a_kill(job, expected, last_step, tmp_path, monkeypatch):
    """Train elsewhere, killed after `last_step` and begun again: the same bits as `expected`."""
    from recency.networks import training

    whole_step = training.Training.step

    def dying_step(run, number, *rest):
        if number > last_step:
            raise Killed
        return whole_step(run, number)

    job["out"] = tmp_path / "again" / "config.json"
    monkeypatch.setattr(training.Training, "step", dying_step)
    with pytest.raises(Killed):
        train.main(**job)
    monkeypatch.setattr(training.Training, "step", whole_step)
    train.main(**job)
    got = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert got[1] == expected[1]
    for name, weights in expected[0].items():
        np.testing.assert_array_equal(got[0][name], weights)


@pytest.mark.parametrize("bias", [{"form": "none"}, MIX, {"form": "primacy_recency"}])
@pytest.mark.parametrize("last_step", [1, 20, 33])
def test_a_killed_job_ends_with_the_same_bits(job, tmp_path, monkeypatch, clock, last_step, bias):
    job["bias"] = bias
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert_same_after_a_kill(job, expected, last_step, tmp_path, monkeypatch)


def test_a_state_of_another_specification_is_refused(job, monkeypatch, clock):
    from recency.networks import training

    whole_step = training.Training.step

    def dying_step(run, number, *rest):
        if number > 20:
            raise Killed
        return whole_step(run, number)

    monkeypatch.setattr(training.Training, "step", dying_step)
    with pytest.raises(Killed):
        train.main(**job)
    job["recipe"] = RECIPE | {"clip": 2.0}
    with pytest.raises(InputError, match=r"recipe\.clip: 1\.0 in the state, 2\.0 now"):
        train.main(**job)


def test_a_loss_that_is_no_number_stops_the_job(job, monkeypatch, clock):
    from recency.networks import training

    whole_step = training.Training.step

    def broken_step(run, number, *rest):
        return whole_step(run, number) * (np.nan if number == 25 else 1)

    monkeypatch.setattr(training.Training, "step", broken_step)
    with pytest.raises(InputError, match="nan at step 25; last good state: step 20"):
        train.main(**job)
    assert (job["out"].parent.parent / ".lm.state.pt").exists()


def test_two_devices_share_a_step(job, tmp_path):
    """Two processes deal out a step's micro-batches; the sums differ by rounding alone."""
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)
    job["out"] = tmp_path / "shared" / "config.json"
    train.main(**job | {"gpus": 2})
    got = load_file(job["out"].parent / "model.safetensors"), losses(job)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-4)
    for name, weights in expected[0].items():
        np.testing.assert_allclose(got[0][name], weights, atol=1e-3)


def test_an_error_on_one_of_two_devices_is_said(job):
    job["recipe"] = RECIPE | {"sequence_length": 5000}
    with pytest.raises(InputError, match="^.*tokens do not fill one row of 5,001"):
        train.main(**job | {"gpus": 2})


def test_gpt2_with_dropout_for_some_epochs_goes_on_with_the_same_bits(
    job, tmp_path, monkeypatch, clock
):
    shape = {key: value for key, value in ARCHITECTURE.items() if key != "rotary_fraction"}
    job["architecture"] = shape | {"family": "gpt2", "dropout": 0.1}
    recipe = RECIPE | {"epochs": 0.5, "schedule": "linear", "warmup_steps": 0}
    job["recipe"] = {key: value for key, value in recipe.items() if key != "steps"}
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert len(expected[1]) == 24  # 400 · 8 tokens: 188 rows of 17; 0.5 · 188 / 4 steps
    assert_same_after_a_kill(job, expected, 22, tmp_path, monkeypatch)


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
    from recency.networks import training

    step = training.Training.step

    def dying_step(run, number, *rest):
        if number > 45:
            raise Killed
        return step(run, number)

    monkeypatch.setattr(training.Training, "step", dying_step)
    with pytest.raises(Killed):
        train.main(**job)
    assert len(losses(job)) == 40


def test_progress_is_said_within_a_step(job, capsys, monkeypatch):
    now = iter(range(0, 10_000, 6))
    monkeypatch.setattr(train.time, "monotonic", lambda: next(now))
    train.main(**job | {"recipe": RECIPE | {"steps": 1, "batch_sequences": 8}})
    assert "train test:  50%" in capsys.readouterr().err


VALIDATED = RECIPE | {"validation": {"tokens": 400, "every": 25}}


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


def test_two_devices_share_validation(job, tmp_path):
    job["recipe"] = VALIDATED
    train.main(**job)
    expected = losses(job, "validation_nats")
    job["out"] = tmp_path / "shared" / "config.json"
    train.main(**job | {"gpus": 2})
    np.testing.assert_allclose(losses(job, "validation_nats"), expected, rtol=1e-4)


def test_tensorboards_files_are_written_where_it_is_asked_for(job):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train.main(**job | {"recipe": VALIDATED, "tensorboard": True})
    events = EventAccumulator(str(job["out"].parent / "tensorboard"))
    events.Reload()
    assert [e.value for e in events.Scalars("loss/training")] == pytest.approx(losses(job))
    assert [e.step for e in events.Scalars("loss/validation")] == [25, 50, 60]


def test_a_gpu_without_pythons_headers_is_said(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(train.sysconfig, "get_path", lambda name: "/nowhere")
    with pytest.raises(InputError, match="Python's headers, and /nowhere/Python.h is not here"):
        train._device("auto", 1)
    assert train._device("cpu", 1) == "cpu"


@needs_compiler
def test_a_compiled_network_trains_as_the_plain_one_and_is_checked(job, monkeypatch):
    from recency.networks import architectures, training

    def steps(compiled):
        stream = TokenStream(job["tokens"], job["info"], 16, "shuffled", 1)
        model = architectures.new(ARCHITECTURE, MIX, stream.vocabulary, 1)
        run = training.Training(model, stream, RECIPE, compiled=compiled)
        return [run.step(number).item() for number in (1, 2, 3)]

    assert steps(True) == pytest.approx(steps(False), rel=1e-4)
    monkeypatch.setattr(training.torch, "compile", lambda network, **settings: _Wrong(network))
    with pytest.raises(RuntimeError, match="differs from the plain one by [1-9]"):
        steps(True)


class _Wrong:
    """A network that is compiled wrongly."""

    def __init__(self, network):
        self.network = network

    def __call__(self, input_ids, **settings):
        return self.network(input_ids=input_ids.flip(1), **settings)


def test_gpu_that_is_not_there(job):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    job["recipe"] = RECIPE | {"device": "cuda"}
    with pytest.raises(InputError, match="no GPU here"):
        train.main(**job)


def test_schedule_as_the_paper_ran_it():
    recipe = {
        "learning_rate": 1e-3,
        "minimum_learning_rate": 1e-4,
        "warmup_steps": 10,
        "steps": 1000,
    }
    as_run, as_worded = recipe | {"schedule": "as_run"}, recipe | {"schedule": "as_worded"}
    for n in (1, 5, 10):
        assert learning_rate(n, as_run) == pytest.approx(1e-3 * n / 10)
    for n in (11, 500, 990, 1000):
        formula = max(5e-4 * (np.cos(np.pi * (min(n, 990) - 10) / 1000) + 1), 1e-4)
        assert learning_rate(n, as_run) == pytest.approx(formula)
    assert learning_rate(10, as_worded) == pytest.approx(1e-3)
    assert learning_rate(505, as_worded) == pytest.approx(5.5e-4)
    assert learning_rate(1000, as_worded) == pytest.approx(1e-4)
    linear = recipe | {"schedule": "linear"}
    assert learning_rate(10, linear) == pytest.approx(1e-3)
    assert learning_rate(505, linear) == pytest.approx(5.5e-4)
    assert learning_rate(1, linear | {"warmup_steps": 0, "steps": 10}) == pytest.approx(9.1e-4)


def test_sequential_order_is_the_file_and_starts_over(tmp_path):
    stream = TokenStream(*write_stream(tmp_path, range(25)), 4, "sequential", 0)
    inputs, targets = stream.batch(0, 5)
    assert inputs[:, 0].tolist() == [0, 5, 10, 15, 20]
    assert targets[1].tolist() == [6, 7, 8, 9]
    assert stream.batch(5, 1)[0].tolist() == [[0, 1, 2, 3]]


def test_shuffled_order_sees_each_row_once_an_epoch(tmp_path):
    stream = TokenStream(*write_stream(tmp_path, range(1000)), 4, "shuffled", 3)
    first = stream.batch(0, 200)[0][:, 0].tolist()
    second = stream.batch(200, 200)[0][:, 0].tolist()
    assert sorted(first) == sorted(second) == list(range(0, 1000, 5))
    assert first != second
    assert stream.batch(57, 1)[0][0, 0] == first[57]


def test_too_little_text(tmp_path):
    with pytest.raises(InputError, match="7 tokens do not fill one row of 17"):
        TokenStream(*write_stream(tmp_path, range(7)), 16, "sequential", 0)


def test_held_out_documents_are_trained_on_by_no_row(tmp_path):
    """Documents of ten tokens and their end (0), numbered; a stretch of 16 tokens is two of them."""
    documents = np.repeat(np.arange(1, 201), 11)
    documents[10::11] = 0
    stream = TokenStream(*write_stream(tmp_path, documents, 256), 4, "shuffled", 0, 128)
    trained = np.unique(stream.batch(0, stream.rows)[0])
    inputs, targets = stream.validation_batch(0, 100)
    held_out = np.unique(np.append(inputs, targets))
    assert not set(trained) & set(held_out) - {0}
    starts = stream.validation[np.append(True, np.diff(stream.validation) > 5)]
    assert len(starts) == 8 and (starts % 11 == 0).all()  # each where a document begins
    assert np.ptp(np.diff(starts)) <= 22  # evenly spaced
    assert len(stream.validation) * 5 <= 8 * 22


def test_a_long_document_is_cut_for_validation(tmp_path):
    stream = TokenStream(*write_stream(tmp_path, np.ones(4000)), 4, "sequential", 0, 160)
    assert len(stream.validation) == 8 * 4 and stream.rows == 800 - 8 * 4


@pytest.mark.parametrize("tokens", [8, 3000])
def test_validation_of_too_few_or_too_many_tokens_is_refused(tmp_path, tokens):
    files = write_stream(tmp_path, np.ones(4000))
    with pytest.raises(InputError, match=f"`validation` of {tokens:,} tokens.*another number"):
        TokenStream(*files, 4, "sequential", 0, tokens)
