"""Training on parallel streams: the state goes on from step to step, also of a job that was killed."""

import csv
import json
import math

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from recency.errors import InputError
from recency.networks import architectures, carried, schedule, train
from training_job import RECIPE, Killed, losses, write_stream

STREAMS = RECIPE | {
    "order": "streams",
    "batch_sequences": 8,
    "micro_batch": 4,
    "sequence_length": 5,
}
SHAPE = {"family": "recurrent", "layers": 1, "width": 16, "embedding": 8}
LSTM, FOFE = {"form": "lstm"}, {"form": "fofe", "decay": 0.7}
NONE = {"form": "none"}


def text_of(tmp_path, tokens, end=0, **settings):
    files = write_stream(tmp_path, tokens)
    facts = json.loads(files[1].read_text()) | {"end_of_document": end}
    files[1].write_text(json.dumps(facts))
    return carried.Text(*files, **({"streams": 3, "length": 4, "seed": 1} | settings))


def network(memory=LSTM, seed=1, **shape):
    return architectures.new(SHAPE | shape | {"memory": memory}, NONE, 32, seed)


@pytest.fixture
def stream_job(job):
    job["bias"] = NONE
    job["architecture"] = SHAPE | {"memory": LSTM, "dropout": 0.1}
    job["recipe"] = STREAMS
    return job


def test_every_stream_is_read_from_its_begin_to_its_end(tmp_path):
    tokens = np.arange(1, 60) % 32
    text = text_of(tmp_path, tokens).training
    assert (text.size, text.steps, text.streams) == (19, 4, 3)
    steps = [text.step(number, 0, 3) for number in range(4)]
    inputs, targets = (torch.cat(each, 1).numpy() for each in zip(*steps))
    for stream in range(3):
        begin = stream * 19
        np.testing.assert_array_equal(inputs[stream], tokens[begin : begin + 16])
        np.testing.assert_array_equal(targets[stream], tokens[begin + 1 : begin + 17])


def test_what_is_held_out_is_not_trained_on(tmp_path):
    tokens = np.arange(4000) // 125  # each token stands in one place
    text = text_of(tmp_path, tokens, end=None, validation=800)
    held_out = {int(n) for first, last in text.validation.parts for n in range(first, last)}
    trained = {int(n) for first, last in text.training.parts for n in range(first, last)}
    assert held_out | trained == set(range(4000)) and not held_out & trained
    inputs, _ = text.training.step(0, 0, 3)
    whole = np.concatenate([tokens[first:last] for first, last in text.training.parts])
    for stream in range(3):
        begin = stream * text.training.size
        np.testing.assert_array_equal(inputs[stream], whole[begin : begin + 4])


@pytest.mark.parametrize("validation", [0, 250])
def test_documents_come_in_another_order_each_epoch(tmp_path, validation):
    """Documents of one to thirty tokens, each of a number of its own, ended by 0; the last has no end."""
    lengths = np.random.default_rng(0).integers(1, 31, 120)
    tokens = np.concatenate([[n] * length + [0] for n, length in enumerate(lengths, 1)])[:-1]
    text = text_of(tmp_path, tokens, shuffle="document", streams=4, validation=validation).training
    whole = sorted(t for first, last in text.parts for t in tokens[first:last])
    assert (len(whole) == len(tokens)) == (validation == 0)
    orders = []
    for epoch in (0, 1, 0):
        places = range(4 * text.size + 1)
        text.step(0, 0, 4, epoch)
        read = np.concatenate([text._read(place, place + 1) for place in places])
        got = [text.step(number, 0, 4, epoch) for number in range(text.steps)]
        for stream in range(4):
            row = torch.cat([inputs[stream] for inputs, _ in got]).numpy()
            begin = stream * text.size
            np.testing.assert_array_equal(row, read[begin : begin + text.steps * 4])
            row = torch.cat([targets[stream] for _, targets in got]).numpy()
            np.testing.assert_array_equal(row, read[begin + 1 : begin + 1 + text.steps * 4])
        everything = text._read(0, len(whole))
        assert sorted(everything) == whole
        documents = "".join(f" {token}" for token in everything).split(" 0")
        numbers = [int(each.split()[0]) for each in documents if each.strip()]
        if validation == 0:  # whole documents, but for the one without an end and that behind it
            assert sum(len(set(each.split())) > 1 for each in documents) <= 1
        orders.append(numbers)
    assert orders[0] == orders[2] != orders[1]
    assert orders[0] != sorted(orders[0])
    other = text_of(tmp_path, tokens, shuffle="document", streams=4, seed=2).training
    assert list(other._read(0, 50)) != list(text._read(0, 50))
    with pytest.raises(InputError, match="nothing separates its documents.*`shuffle: document`"):
        text_of(tmp_path, tokens, end=None, shuffle="document")


def test_an_epoch_s_order_is_trained_on(tmp_path):
    """The losses of a second epoch are those of its own order."""
    tokens = np.random.default_rng(0).integers(0, 32, 400)
    text = text_of(tmp_path, tokens, shuffle="document", streams=8, length=5)
    recipe = STREAMS | {"learning_rate": 1e-300, "minimum_learning_rate": 0, "weight_decay": 0.0}
    model = network()
    run = carried.CarriedTraining(model, text, recipe | {"steps": 60})
    steps = text.training.steps
    losses = [run.step(number).item() for number in range(1, 2 * steps + 1)][steps:]
    read = text.training._read(0, 8 * text.training.size + 1)
    rows = np.stack([read[s * text.training.size :][: steps * 5 + 1] for s in range(8)])
    rows = torch.from_numpy(rows.astype(np.int64))
    with torch.no_grad():
        logits = model(rows[:, :-1]).logits
    expected = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), rows[:, 1:], reduction="none"
    )
    assert losses == pytest.approx(expected.view(8, steps, 5).mean((0, 2)).tolist(), rel=1e-5)


def test_the_state_after_steps_is_that_of_one_long_pass(tmp_path):
    """With a rate of 0, nothing but the state changes."""
    tokens = np.random.default_rng(0).integers(1, 32, 400)
    recipe = STREAMS | {"learning_rate": 1e-300, "minimum_learning_rate": 0, "weight_decay": 0.0}
    text, model = text_of(tmp_path, tokens, streams=8, length=5), network()
    run = carried.CarriedTraining(model, text, recipe | {"steps": 60})
    got = [run.step(number).item() for number in range(1, 10)]
    rows = np.stack([tokens[s * text.training.size :][:46] for s in range(8)])
    with torch.no_grad():
        whole = model(torch.from_numpy(rows[:, :-1]))
    expected = torch.nn.functional.cross_entropy(
        whole.logits.transpose(1, 2), torch.from_numpy(rows[:, 1:]), reduction="none"
    )
    assert got == pytest.approx(expected.view(8, 9, 5).mean((0, 2)).tolist(), rel=1e-5)
    for one, other in zip(run.carried[0], whole.state[0]):
        torch.testing.assert_close(one, other)
    for number in range(10, text.training.steps + 2):  # into the next epoch: from nothing
        run.step(number)
    again = model(torch.from_numpy(rows[:, :5])).state
    torch.testing.assert_close(run.carried[0], again[0])


def test_a_state_ends_with_its_document_where_that_is_asked_for(tmp_path):
    tokens = np.random.default_rng(0).integers(1, 32, 200)
    tokens[::7] = 0
    text, model = text_of(tmp_path, tokens, reset="document"), network(FOFE)
    run = carried.CarriedTraining(model, text, STREAMS | {"batch_sequences": 3, "steps": 60})
    for group in run.optimizer.param_groups:
        group["lr"] = 0.0
    inputs, _ = text.training.step(0, 0, 3)
    state = model.model(inputs, resets=inputs == 0).state
    for row in range(3):
        last = int((inputs[row] == 0).nonzero().max()) if (inputs[row] == 0).any() else 0
        alone = model.model(inputs[row : row + 1, last:]).state
        torch.testing.assert_close(state[0][0][row : row + 1], alone[0][0])
    run.step(1)
    torch.testing.assert_close(run.carried[0][0], state[0][0].detach())
    with pytest.raises(InputError, match="nothing separates its documents"):
        text_of(tmp_path, tokens, end=None, reset="document")


@pytest.mark.merge
@pytest.mark.parametrize("memory", [LSTM, FOFE, {"form": "state_space"}])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"shuffle": "document"},
        {"optimizer": "sgd", "momentum": 0.9, "learning_rate": 1.0, "weight_decay": 4e-5},
        {"bptt": 15},
    ],
    ids=["adamw", "documents shuffled", "sgd", "further back"],
)
def test_a_killed_job_ends_with_the_same_bits(stream_job, tmp_path, monkeypatch, memory, more):
    job = stream_job
    job["architecture"] = job["architecture"] | {"memory": memory}
    job["recipe"] = STREAMS | more
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert np.mean(expected[1][-5:]) < expected[1][0]
    whole_step, monotonic = carried.CarriedTraining.step, iter(range(10**6))

    def dying_step(run, number, *rest):
        if number > 33:
            raise Killed
        return whole_step(run, number, *rest)

    job["out"] = tmp_path / "again" / "config.json"
    monkeypatch.setattr(train.time, "monotonic", lambda: float(next(monotonic)))
    monkeypatch.setattr(carried.CarriedTraining, "step", dying_step)
    with pytest.raises(Killed):
        train.main(**job)
    state = torch.load(tmp_path / ".again.state.pt", weights_only=True)
    assert 0 < state["done"] <= 33 and state["carried"][0][0].abs().sum() > 0
    monkeypatch.setattr(carried.CarriedTraining, "step", whole_step)
    train.main(**job)
    got = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert got[1] == expected[1]
    for name, weights in expected[0].items():
        np.testing.assert_array_equal(got[0][name], weights)


def test_gradients_are_of_the_mean_or_of_the_sum(tmp_path):
    tokens = np.random.default_rng(0).integers(1, 32, 400)

    def gradient(how):
        model = network()
        text = text_of(tmp_path, tokens, streams=8, length=5)
        recipe = STREAMS | {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.0, "clip": 1e9}
        recipe |= {"learning_rate": 1.0, "warmup_steps": 0, "loss": how, "steps": 2**40}
        before = model.lm_head.weight.detach().clone()
        carried.CarriedTraining(model, text, recipe).step(1)
        return before - model.lm_head.weight.detach()

    mean = gradient("mean")
    torch.testing.assert_close(gradient("sum"), 40 * mean, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradient("stream_sum"), 5 * mean, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("length", "bptt"), [(1, 5), (2, 6), (4, 4), (6, 2), (6, 3)])
@pytest.mark.parametrize("memory", [LSTM, {"form": "srnn", "context": "word", "window": 3}])
def test_gradients_flow_as_many_words_back_as_the_recipe_says(tmp_path, length, bptt, memory):
    """Against autograd on plain steps: weights that changed since are those of each state."""
    tokens = np.random.default_rng(0).integers(1, 32, 300)
    text = text_of(tmp_path, tokens, streams=3, length=length)
    recipe = STREAMS | {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.0, "clip": None}
    recipe |= {
        "learning_rate": 0.5,
        "warmup_steps": 0,
        "loss": "sum",
        "steps": 2**40,
        "micro_batch": 2,
    }
    recipe |= {"sequence_length": length, "bptt": bptt, "batch_sequences": 3}
    model, plain = network(memory).double(), network(memory).double()
    run = carried.CarriedTraining(model, text, recipe)
    streams = torch.from_numpy(np.stack([tokens[s * text.training.size :][:40] for s in range(3)]))
    states = [plain.model.start(3)]  # before each word, by the weights of its time
    back = max(bptt - length, 0)
    for number in range(1, 5):
        run.step(number)
        begin, end = (number - 1) * length, number * length
        at = max(begin - back, 0)
        loss, cut = 0.0, at
        state = states[at]
        for word in range(at, end):
            if word - cut == bptt:
                state, cut = tuple(tuple(t.detach() for t in each) for each in state), word
            output = plain(streams[:, word : word + 1], state=state)
            state = output.state
            if word >= begin:
                states.append(tuple(tuple(t.detach() for t in each) for each in state))
                of_word = torch.nn.functional.cross_entropy(
                    output.logits[:, 0], streams[:, word + 1], reduction="sum"
                )
                loss = loss + of_word
        gradients = torch.autograd.grad(loss, list(plain.parameters()))
        with torch.no_grad():
            for weights, gradient in zip(plain.parameters(), gradients):
                weights -= 0.5 * gradient
        for one, other in zip(model.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)


def test_weights_are_restored_after_a_worse_validation(tmp_path):
    text = text_of(tmp_path, np.arange(1, 200) % 32)
    recipe = STREAMS | {"schedule": "halving", "halving": {"restore": True}}
    run = carried.CarriedTraining(network(), text, recipe)
    weight, seen = run.model.lm_head.weight, []
    for nats in ([5.0], [5.0, 4.0], [5.0, 4.0, 4.5], [5.0, 4.0, 4.5, 4.4]):
        with torch.no_grad():
            weight.fill_(len(nats))
        run.restore_if_worse(dict(enumerate(nats)))
        seen.append(weight[0, 0].item())
    assert seen == [1, 2, 2, 4]
    plain = carried.CarriedTraining(network(), text, STREAMS)
    plain.restore_if_worse({1: 1.0, 2: 2.0})
    assert plain.best is None


def test_the_rate_is_halved_once_validation_stalls_and_then_each_time():
    recipe = {"schedule": "halving", "learning_rate": 0.4, "steps": 100}
    fine = {10: 5.0, 20: 4.5, 30: 4.4}
    assert schedule.learning_rate(31, recipe, fine) == 0.4
    stalled = fine | {40: 4.399}
    assert schedule.learning_rate(41, recipe, stalled) == 0.2
    better = stalled | {50: 4.0}  # a fall behind the first halving changes nothing
    assert schedule.learning_rate(51, recipe, better) == 0.1
    assert not schedule.is_finished(recipe, 50, better) and schedule.is_finished(
        recipe, 100, better
    )
    seven = stalled | {40 + n: 4.0 - n / 10 for n in range(1, 8)}
    assert schedule.is_finished(recipe, 47, seven)
    del seven[47]
    assert not schedule.is_finished(recipe, 46, seven)
    recipe |= {"steps": 1000, "validation": {"every": 10}}
    found = [schedule.last_step(recipe, each) for each in ({}, fine, stalled, better)]
    assert found == [(1000, True), (1000, True), (110, False), (110, False)]
    assert schedule.last_step(recipe | {"steps": 100}, stalled) == (100, False)


@pytest.mark.merge
def test_halving_ends_a_training_early_and_for_good(stream_job, tmp_path, monkeypatch):
    """Its progress says from the first halving on when that will be."""
    job, left = stream_job, []

    class Shown(train.progress):
        def update(self, done, note=""):
            left.append((self.total - done, self.at_most))

    monkeypatch.setattr(train, "progress", Shown)
    rest = {k: v for k, v in STREAMS.items() if k not in ("steps", "warmup_steps")}
    job["recipe"] = rest | {
        "epochs": 40,
        "schedule": "halving",
        "halving": {"improvement": 0.02, "further": 2},
        "validation": {"every": "epoch"},
    }
    tokens = np.fromfile(job["tokens"], "<u2")
    job["held_out"] = tmp_path / "held_out.bin"
    tokens[:800].tofile(job["held_out"])
    train.main(**job)
    with open(job["out"].parent / "training.csv") as table:
        rows = list(csv.DictReader(table))
    held_out = [float(row["validation_nats"]) for row in rows if row["validation_nats"]]
    perplexity = [float(row["validation_perplexity"]) for row in rows if row["validation_nats"]]
    assert perplexity == pytest.approx([math.exp(nats) for nats in held_out])
    assert 3 < len(held_out) < 40 and held_out[-1] < held_out[0]
    assert left[0][1] and left[-1] == (0, False)
    expected = (job["out"].parent / "model.safetensors").read_bytes()
    (job["out"].parent / "model.safetensors").unlink()
    train.main(**job)  # from its state, which says that it is finished
    assert (job["out"].parent / "model.safetensors").read_bytes() == expected


def test_a_loss_beyond_all_sense_ends_the_training(stream_job):
    stream_job["recipe"] = STREAMS | {"optimizer": "sgd", "momentum": 0.99, "learning_rate": 10}
    stream_job["recipe"] |= {"clip": 1e9, "warmup_steps": 0, "loss": "sum"}
    stream_job["architecture"] = SHAPE | {"memory": FOFE}
    with pytest.raises(InputError, match=r"the loss is \S+ at step \d+; last good state.*Lower"):
        train.main(**stream_job)


def test_more_streams_than_text_are_refused(tmp_path):
    with pytest.raises(InputError, match="30 tokens do not fill 10 streams of 4 words"):
        text_of(tmp_path, np.arange(1, 31), streams=10)


@pytest.mark.merge
@pytest.mark.parametrize("window, learned", [(2, False), (3, True)])
def test_what_lies_three_words_back_is_learned_by_a_window_that_reaches_so_far(
    tmp_path, window, learned
):
    """One of 8 words, two fillers, and its copy: only who sees the first knows the last."""
    drawn = np.random.default_rng(0).integers(0, 8, 3000)
    rows = np.stack([drawn + 1, np.full(3000, 20), np.full(3000, 21), drawn + 9], 1)
    text = text_of(tmp_path, rows.ravel(), streams=10, length=40)
    recipe = STREAMS | {"batch_sequences": 10, "micro_batch": 10, "steps": 120, "clip": 10.0}
    recipe |= {"weight_decay": 0.0, "learning_rate": 2e-2}
    memory = {"form": "fofe", "decay": 0, "window": window}
    run = carried.CarriedTraining(network(memory, width=32), text, recipe)
    found = np.mean([run.step(number).item() for number in range(1, 121)][-10:])
    best = math.log(8) / 4  # the first word is anyone's guess, and so is its copy to a short window
    assert found == pytest.approx(best if learned else 2 * best, abs=0.08)
