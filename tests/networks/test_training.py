"""Training: the schedule, the order of the tokens, and that a killed job goes on bit by bit."""

import errno
import json
import os
import shutil

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from recency import history
from recency.errors import REFUSALS
from recency.networks import architectures, states, train, training
from recency.networks.schedule import learning_rate
from recency.networks.stream import TokenStream
from training_job import (
    ARCHITECTURE,
    MIX,
    RECIPE,
    assert_same_after_a_kill,
    losses,
    train_until_killed,
)


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
    monkeypatch.setattr(training.Training, "step", None)  # any step would fail
    train.main(**job)
    assert (job["out"].parent / "model.safetensors").read_bytes() == expected


@pytest.mark.merge
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


def test_what_an_unfinished_state_is_of_is_read_without_pytorch(job):

    train.main(**job)
    state = states.state_path(job["out"].parent)
    assert states.unfinished(state) is None
    kept = torch.load(state, weights_only=True)
    torch.save(kept | {"optimizer": {"state": {}, "specification": "{}"}}, state)
    assert states.unfinished(state) == json.loads(kept["specification"])
    state.write_bytes(state.read_bytes()[:1000])
    assert states.unfinished(state) is None


@pytest.mark.merge
@pytest.mark.parametrize("how", ["in the middle", "in the kernel"])
def test_a_full_disk_leaves_the_state_before(job, tmp_path, monkeypatch, clock, how):
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)

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
    with pytest.raises(REFUSALS, match=r"state\.pt was not written: the disk is full.*unchanged; "):
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


@pytest.mark.parametrize(
    "bias",
    [
        pytest.param({"form": "none"}, marks=pytest.mark.merge),
        MIX,
        pytest.param({"form": "primacy_recency"}, marks=pytest.mark.merge),
    ],
)
@pytest.mark.parametrize(
    "last_step",
    [pytest.param(1, marks=pytest.mark.merge), 20, pytest.param(33, marks=pytest.mark.merge)],
)
def test_a_killed_job_ends_with_the_same_bits(job, tmp_path, monkeypatch, clock, last_step, bias):
    job["bias"] = bias
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert_same_after_a_kill(job, expected, last_step, tmp_path, monkeypatch)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("precision", ["bf16", "fp32"])
@pytest.mark.parametrize("bias", [{"form": "none"}, MIX])
def test_a_killed_job_on_a_gpu_ends_with_the_same_bits(
    job, tmp_path, monkeypatch, clock, bias, precision
):
    """As on a CPU; heads and sequences are wide enough for the kernels of a real training."""
    job["bias"] = bias
    job["architecture"] = ARCHITECTURE | {"width": 128, "feed_forward": 256, "context": 256}
    job["recipe"] = RECIPE | {"device": "cuda", "precision": precision, "sequence_length": 256}
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert_same_after_a_kill(job, expected, 33, tmp_path, monkeypatch)


def test_a_state_of_another_specification_is_refused(job, monkeypatch, clock):
    train_until_killed(job, 20, monkeypatch)
    job["recipe"] = RECIPE | {"clip": 2.0}
    with pytest.raises(REFUSALS, match=r"recipe\.clip: 1\.0 in the state, 2\.0 now"):
        train.main(**job)


@pytest.mark.merge
def test_a_state_of_other_code_goes_on_where_that_is_declared(job, monkeypatch, clock, capsys):
    """To the bytes of an uninterrupted training; of another recipe no declaration helps."""
    job["code"] = {"recency.a": "1"}
    train.main(**job)
    weights = (job["out"].parent / "model.safetensors").read_bytes()
    state = states.state_path(job["out"].parent)
    state.unlink()
    train_until_killed(job, 20, monkeypatch)
    edited = job | {"code": {"recency.a": "2"}}
    with pytest.raises(REFUSALS, match=r"code\.recency\.a: '1' in the state, '2' now"):
        train.main(**edited)
    states.declare(state, edited["code"])
    with pytest.raises(REFUSALS, match=r"recipe\.clip: 1\.0 in the state, 2\.0 now"):
        train.main(**edited | {"recipe": RECIPE | {"clip": 2.0}})
    with pytest.raises(REFUSALS, match=r"code\.recency\.a: '1' in the state, '3' now"):
        train.main(**edited | {"code": {"recency.a": "3"}})
    train.main(**edited)
    assert "resumes with changed code, as declared" in capsys.readouterr().err
    change = {"step": 20, "begun_by": job["code"], "goes_on_by": edited["code"]}
    assert history.read(job["out"])["resumed"] == [change]
    assert (job["out"].parent / "model.safetensors").read_bytes() == weights


def test_a_loss_that_is_no_number_stops_the_job(job, monkeypatch, clock):
    from recency.networks import training

    whole_step = training.Training.step

    def broken_step(run, number, *rest):
        return whole_step(run, number) * (np.nan if number == 25 else 1)

    monkeypatch.setattr(training.Training, "step", broken_step)
    with pytest.raises(REFUSALS, match="nan at step 25; last good state: step 20"):
        train.main(**job)
    assert (job["out"].parent.parent / ".lm.state.pt").exists()


@pytest.mark.merge
@pytest.mark.parametrize("last", [7, 99])
def test_a_loss_that_stays_above_guessing_stops_the_job(job, monkeypatch, clock, last):
    """Some steps may be beyond it; not the mean of many."""
    from recency.networks import training

    whole_step = training.Training.step

    def worse_step(run, number, *rest):
        return whole_step(run, number, *rest) * (3 if 5 <= number <= last else 1)

    monkeypatch.setattr(training.Training, "step", worse_step)
    monkeypatch.setattr(train, "LONG", 10)
    if last < 10:
        train.main(**job)
    else:
        with pytest.raises(REFUSALS, match="in the mean of steps .* where guessing uniformly"):
            train.main(**job)


@pytest.mark.merge
def test_two_devices_share_a_step_and_validation(job, tmp_path):
    """Two processes deal out a step's micro-batches; the sums differ by rounding alone."""
    job["recipe"] = RECIPE | {"validation": {"tokens": 400, "every": 25}}
    train.main(**job)
    columns = ("loss_nats", "validation_nats")
    weights = load_file(job["out"].parent / "model.safetensors")
    expected = [losses(job, column) for column in columns]
    job["out"] = tmp_path / "shared" / "config.json"
    train.main(**job | {"gpus": 2})
    got = load_file(job["out"].parent / "model.safetensors")
    for column, alone in zip(columns, expected, strict=True):
        np.testing.assert_allclose(losses(job, column), alone, rtol=1e-4)
    for name, each in weights.items():
        np.testing.assert_allclose(got[name], each, atol=1e-3)


@pytest.mark.merge
def test_an_error_on_one_of_two_devices_is_said(job):
    job["recipe"] = RECIPE | {"sequence_length": 5000}
    with pytest.raises(REFUSALS, match="^.*tokens do not fill one row of 5,001"):
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


def test_each_device_and_step_draws_its_own_dropout(job, monkeypatch):
    """Of the same rows and weights, the loss differs between devices and steps by dropout alone."""
    from recency.networks import architectures, training

    stream = TokenStream(job["tokens"], job["info"], 16, "shuffled", 1)
    rows = stream.batch(0, 2)
    monkeypatch.setattr(stream, "batch", lambda first, count: rows)
    monkeypatch.setattr(training.distributed, "all_reduce", lambda tensor: None)
    shape = {key: value for key, value in ARCHITECTURE.items() if key != "rotary_fraction"}
    model = architectures.new(shape | {"family": "gpt2", "dropout": 0.1}, {"form": "none"}, 32, 1)

    def losses_of(rank):
        run = training.Training(model, stream, RECIPE, rank=rank, world=2)
        monkeypatch.setattr(run, "_update", model.zero_grad)  # the weights stay
        return [run.step(number).item() for number in (1, 2, 3)]

    first, second = losses_of(0), losses_of(1)
    assert len({*first, *second}) == 6
    assert (losses_of(0), losses_of(1)) == (first, second)  # and a resumed step draws the same


def test_a_gpu_without_pythons_headers_is_said(monkeypatch):

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(train.sysconfig, "get_path", lambda name: "/nowhere")
    with pytest.raises(REFUSALS, match="Python's headers, and /nowhere/Python.h is not here"):
        train._device("auto", 1)
    assert train._device("cpu", 1) == "cpu"


@pytest.mark.parametrize("most", [1e-3, 1e3])
def test_gradients_are_clipped_as_pytorch_does(job, most):
    """Bit for bit, whether their norm is beyond or not."""
    from recency.networks import architectures, training

    stream = TokenStream(job["tokens"], job["info"], 16, "shuffled", 1)
    model = architectures.new(ARCHITECTURE, MIX, stream.vocabulary, 1)
    run = training.Training(model, stream, RECIPE | {"clip": most})
    run.optimizer.step = run.optimizer.zero_grad = lambda **given: None  # gradients stay
    clip, run._clip = run._clip, lambda most: None
    run.step(1)
    parameters = [each for each in model.parameters() if each.grad is not None]
    before = [each.grad.clone() for each in parameters]
    norm = torch.nn.utils.clip_grad_norm_(parameters, most)
    expected = [each.grad.clone() for each in parameters]
    assert 1e-3 < norm < 1e3
    for each, gradient in zip(parameters, before, strict=True):
        each.grad = gradient
    clip(most)
    for each, gradient in zip(parameters, expected, strict=True):
        assert torch.equal(each.grad, gradient)


def test_without_a_bias_attention_is_by_blocks_and_transformers_own(job):
    """In rows of more than a block: the gradients are those of the plain class, and so is the file."""
    from transformers import AutoModelForCausalLM

    from recency.networks import architectures, training

    length = 2 * training.blocks.QUERIES_AT_ONCE
    sizes = {"sequence_length": length, "batch_sequences": 2, "micro_batch": 1, "steps": 1}
    recipe = RECIPE | sizes | {"warmup_steps": 1, "clip": None}
    architecture = ARCHITECTURE | {"context": length}
    stream = TokenStream(job["tokens"], job["info"], length, "shuffled", 1)
    mine, own = (architectures.new(architecture, {"form": "none"}, 32, 1) for _ in range(2))
    run = training.Training(mine, stream, recipe)
    assert mine.config._attn_implementation == "recency"
    run._update = lambda: None  # its gradients stay
    loss = run.step(1)
    tokens = torch.stack([torch.cat([a, b[-1:]]) for a, b in zip(*stream.batch(0, 2))])
    own.config._attn_implementation = "eager"
    expected = own(tokens[:, :-1], labels=tokens, shift_labels=tokens[:, 1:].contiguous()).loss
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    for got, wanted in zip(mine.parameters(), own.parameters(), strict=True):
        torch.testing.assert_close(got.grad, wanted.grad, rtol=1e-4, atol=1e-7)
    job |= {"recipe": recipe, "architecture": architecture, "bias": {"form": "none"}}
    train.main(**job)
    assert "recency" not in job["out"].read_text()
    plain = AutoModelForCausalLM.from_pretrained(job["out"].parent)
    assert type(plain).__name__ == "GPTNeoXForCausalLM"
    assert plain.config._attn_implementation == "sdpa"


def test_gpu_that_is_not_there(job):

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    job["recipe"] = RECIPE | {"device": "cuda"}
    with pytest.raises(REFUSALS, match="no GPU here"):
        train.main(**job)


def test_schedule_as_the_paper_ran_it():
    recipe = {
        "learning_rate": 1e-3,
        "minimum_learning_rate": 1e-4,
        "warmup_steps": 10,
        "steps": 1000,
    }
    as_run, as_worded = recipe | {"schedule": "as_run"}, recipe | {"schedule": "as_worded"}
    used = []
    for counter in range(1000):  # the scheduler counts an update after it
        cosine = 5e-4 * (np.cos(np.pi * (min(counter, 990) - 10) / 1000) + 1)
        used.append(1e-4 * counter if counter <= 10 else max(cosine, 1e-4))
    assert used[:3] == [0, 1e-4, 2e-4] and used[10] == 1e-3 and used[11] < 1e-3
    assert used[999] == 1e-4 < used[750]
    assert [learning_rate(n, as_run) for n in range(1, 1001)] == pytest.approx(used, rel=1e-12)
    assert learning_rate(1, as_run | {"warmup_steps": 0}) == 1e-3
    assert learning_rate(10, as_worded) == pytest.approx(1e-3)
    assert learning_rate(505, as_worded) == pytest.approx(5.5e-4)
    assert learning_rate(1000, as_worded) == pytest.approx(1e-4)
    linear = recipe | {"schedule": "linear"}
    assert learning_rate(10, linear) == pytest.approx(1e-3)
    assert learning_rate(505, linear) == pytest.approx(5.5e-4)
    assert learning_rate(1, linear | {"warmup_steps": 0, "steps": 10}) == pytest.approx(9.1e-4)


def test_step_1_as_run_is_the_initialisation(job):
    """As of GPT-NeoX: its first update has rate 0; networks of earlier versions state no such rate."""
    job["recipe"] = RECIPE | {"schedule": "as_run", "checkpoints": [1, 2]}
    train.main(**job)
    kept = job["out"].parent / "checkpoints"
    first, second = (load_file(kept / f"step{step}" / "model.safetensors") for step in (1, 2))
    initial = architectures.new(ARCHITECTURE, MIX, 32, job["seed"]).state_dict()
    assert all(np.array_equal(first[name], initial[name].numpy()) for name in first)
    assert any(not np.array_equal(first[name], second[name]) for name in first)
    config = json.loads((job["out"]).read_text())
    assert config[history.KEY]["recipe"]["first_learning_rate"] == 0
