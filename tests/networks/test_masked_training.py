"""Training of masked LMs: what is masked, rows of whole examples, resumption, and the loss."""

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from transformers import RobertaForMaskedLM

from conftest import needs_compiler
from masked_job import ARCHITECTURE, NONE, OFFSET, RECIPE, facts
from recency.errors import InputError
from recency.networks import architectures, masked_training, train
from recency.networks.masked_training import Entries, Masking, entries
from recency.networks.roberta import BEGIN, END, PAD
from recency.networks.schedule import learning_rate
from training_job import assert_same_after_a_kill, losses

EXAMPLES = RECIPE | {"rows": "examples"}
BEGUN = {"head": "clap", "embedding_norm": False, "positions": "none", "dropout": 0.1}


def stream(folder, recipe=RECIPE, seed=1):
    """Return the rows of a recipe on the made text."""
    files = (folder / name for name in ("tokens.bin", "tokens.json", "tokenizer.json"))
    return masked_training.MaskedRows(*files, recipe, seed)


def test_shares_of_what_is_masked():
    """15 % of all places alike, 80/10/10 of them, random entries no special ones."""
    known = Entries(1000, 4, np.arange(5, 1000))
    masking, original = Masking({}, known), np.full(40, 500)
    at, kinds, others, counts = np.zeros(40), np.zeros(3), [], []
    rows = 4000
    for number in range(rows):
        row = original.copy()
        places = masking.apply(row, masking.generator(1, 0, number))
        assert len(places) in (6,) and len(set(places)) == len(places)
        here = row[places]
        at[places] += 1
        kinds += [(here == 4).sum(), (here == 500).sum(), ((here != 4) & (here != 500)).sum()]
        others += here[(here != 4) & (here != 500)].tolist()
        unasked = np.delete(row, places)
        assert (unasked == 500).all()
        counts.append(masking.count(50, masking.generator(1, 0, number)))  # 7.5
    total = 6 * rows
    np.testing.assert_allclose(kinds / total, [0.8, 0.1, 0.1], atol=5 * (0.16 / total) ** 0.5)
    np.testing.assert_allclose(at / rows, 0.15, atol=5 * (0.1275 / rows) ** 0.5)
    assert min(others) >= 5 and np.mean(others) == pytest.approx(
        502, abs=5 * 287 / len(others) ** 0.5
    )
    assert set(counts) == {7, 8} and np.mean(counts) == pytest.approx(7.5, abs=0.05)


def test_masks_are_of_seed_epoch_and_row_alone(masked_text):
    """However many rows are read at once, and in whatever order; others in another epoch or seed."""
    rows = stream(masked_text, EXAMPLES)
    together = rows.batch(0, 12)
    alone = [rows.batch(number, 1) for number in reversed(range(12))][::-1]
    for k, one in enumerate(alone):
        assert torch.equal(one.inputs[0], together.inputs[k])
        mine = together.places // rows.length == k
        assert torch.equal(one.places, together.places[mine] - k * rows.length)
        assert torch.equal(one.targets, together.targets[mine])
    sequential = EXAMPLES | {"order": "sequential"}
    found = [stream(masked_text, sequential, seed).batch(first, 12).places
             for seed, first in ((1, 0), (1, rows.rows), (2, 0))]  # fmt: skip
    assert not any(len(a) == len(b) and torch.equal(a, b)
                   for a, b in zip(found, found[1:] + found[:1]))  # fmt: skip
    assert rows.count_masked(5, 12) == len(rows.batch(5, 12).places)


@pytest.mark.parametrize("longer", ["cut", "drop"])
def test_rows_of_whole_examples(masked_text, longer, capsys):
    """Every document once, whole or cut with its end, as many to a row as fit; counted."""
    recipe = EXAMPLES | {"longer": longer, "order": "sequential"}
    rows = stream(masked_text, recipe)
    tokens = np.fromfile(masked_text / "tokens.bin", "<u2")
    texts = np.split(tokens, np.flatnonzero(tokens == END) + 1)[:-1]
    room = RECIPE["sequence_length"] - 1
    long = [len(text) > room for text in texts]
    kept = [text[:room] if len(text) > room else text for text, is_long in zip(texts, long)
            if longer == "cut" or not is_long]  # fmt: skip
    expected = []
    for text in kept:
        text = np.append(text[:-1], END)
        if expected and len(expected[-1]) + len(text) <= room:
            expected[-1] = np.concatenate([expected[-1], text])
        else:
            expected.append(text)
    assert rows.rows == len(expected)
    for number, text in enumerate(expected):
        np.testing.assert_array_equal(rows.text.row(number), np.append(BEGIN, text))
    batch = rows.batch(0, rows.rows)
    lengths = [1 + len(text) for text in expected]
    np.testing.assert_array_equal(batch.seen.sum(1), lengths)
    assert (batch.inputs[~batch.seen] == PAD).all() and batch.seen.flatten()[batch.places].all()
    whole = np.concatenate(
        [np.append(BEGIN, np.pad(text, (0, room - len(text)))) for text in expected]
    )
    np.testing.assert_array_equal(batch.targets, whole[batch.places])
    done = {"cut": "cut", "drop": "dropped"}[longer]
    said = f"{len(texts)} examples in {rows.rows} rows; {sum(long)} of them"
    assert said in (printed := capsys.readouterr().err) and f"and {done}" in printed


def test_validation_text_of_one_long_document_is_cut_like_another(tmp_path, masked_text):
    """Its stretches break it off, with no </s> within."""
    tokens = np.full(4000, 9, "<u2")
    tokens[-1] = END
    tokens.tofile(tmp_path / "tokens.bin")
    recipe = EXAMPLES | {"validation": {"tokens": 800, "every": 5}}
    files = (tmp_path / "tokens.bin", masked_text / "tokens.json", masked_text / "tokenizer.json")
    rows = masked_training.MaskedRows(*files, recipe, 1)
    assert len(rows.validation) == 8
    room = RECIPE["sequence_length"] - 1
    np.testing.assert_array_equal(rows.validation.row(3), [BEGIN, *[9] * (room - 1), END])


def test_full_rows_are_the_text_end_to_end(masked_text):
    rows = stream(masked_text, RECIPE | {"order": "sequential"})
    tokens, room = np.fromfile(masked_text / "tokens.bin", "<u2"), RECIPE["sequence_length"] - 1
    assert rows.rows == len(tokens) // room
    np.testing.assert_array_equal(rows.text.row(3), np.append(BEGIN, tokens[3 * room : 4 * room]))
    assert rows.batch(0, 4).seen is None


def test_rows_with_nothing_masked_are_counted_and_a_step_of_them_is_refused(masked_text, capsys):
    recipe = RECIPE | {"sequence_length": 3, "batch_sequences": 2, "masking": {"share": 0.01}}
    rows = stream(masked_text, recipe)
    empty = sum(rows.count_masked(number, 1) == 0 for number in range(rows.rows))
    assert f"{empty:,} of {rows.rows:,} rows have nothing masked" in capsys.readouterr().err
    model = architectures.new(ARCHITECTURE, NONE, rows.vocabulary, 1)
    run = masked_training.MaskedTraining(model, rows, recipe)
    with pytest.raises(InputError, match=r"nothing is masked in the 2 rows of step \d+: the rows"):
        for number in range(1, 10):
            run.step(number)


def test_a_tokenizer_without_a_mask_is_refused(job):
    with pytest.raises(InputError, match=r"tokenizer\.json has no <mask>.*`kind: masked`"):
        train.main(**job | {"recipe": RECIPE, "architecture": ARCHITECTURE, "bias": NONE})


@pytest.mark.merge
@pytest.mark.parametrize(("own", "bias"), [({"dropout": 0.1}, NONE), (BEGUN, OFFSET)])
def test_a_killed_job_ends_with_the_same_bits(masked_job, tmp_path, monkeypatch, clock, own, bias):
    masked_job |= {"architecture": ARCHITECTURE | own, "bias": bias}
    masked_job["recipe"] = EXAMPLES | {"steps": 26, "validation": {"tokens": 400, "every": 10}}
    train.main(**masked_job)
    expected = load_file(masked_job["out"].parent / "model.safetensors"), losses(masked_job)
    assert_same_after_a_kill(masked_job, expected, 22, tmp_path, monkeypatch)


def test_micro_batches_change_nothing_but_rounding(masked_text):
    found = []
    for micro in (1, 6):
        recipe = EXAMPLES | {"micro_batch": micro}
        rows = stream(masked_text, recipe)
        run = masked_training.MaskedTraining(
            architectures.new(ARCHITECTURE | BEGUN | {"dropout": 0}, OFFSET, rows.vocabulary, 1),
            rows,
            recipe,
        )
        found.append([run.step(number).item() for number in range(1, 6)])
    assert found[0] == pytest.approx(found[1], rel=1e-5)


@needs_compiler
@pytest.mark.parametrize(("own", "bias"), [({}, NONE), ({"positions": "none"}, OFFSET)])
def test_a_compiled_network_trains_as_the_plain_one(masked_text, own, bias):
    """As on a GPU, where the last layer runs everywhere; and with padding."""
    found = []
    for compiled in (False, True):
        rows = stream(masked_text, EXAMPLES)
        model = architectures.new(ARCHITECTURE | own | {"layers": 1}, bias, rows.vocabulary, 1)
        run = masked_training.MaskedTraining(model, rows, EXAMPLES, compiled=compiled)
        found.append([run.step(number).item() for number in (1, 2)])
    assert found[0] == pytest.approx(found[1], rel=1e-4)


@pytest.mark.merge
def test_two_devices_share_a_step(masked_job, tmp_path):
    """The mean is over the places of all devices' rows."""
    masked_job["recipe"] = EXAMPLES | {"steps": 5, "validation": {"tokens": 400, "every": 5}}
    train.main(**masked_job)
    expected = losses(masked_job), losses(masked_job, "validation_nats")
    masked_job["out"] = tmp_path / "shared" / "config.json"
    train.main(**masked_job | {"gpus": 2})
    got = losses(masked_job), losses(masked_job, "validation_nats")
    for ours, alone in zip(got, expected):
        np.testing.assert_allclose(ours, alone, rtol=1e-4)


def test_validation_has_the_same_masks_for_every_seed_and_is_transformers_loss(masked_job):
    recipe = RECIPE | {"validation": {"tokens": 400, "every": 10}}
    shape = ARCHITECTURE | {"dropout": 0.1}
    train.main(**masked_job | {"recipe": recipe, "architecture": shape})
    folder = masked_job["tokens"].parent
    batch = stream(folder, recipe, 1).validation_batch(0, 100)
    other = stream(folder, recipe, 2).validation_batch(0, 100)
    assert all(torch.equal(a, b) for a, b in zip(batch, other) if a is not None)
    labels = torch.full_like(batch.inputs, -100)
    labels.view(-1)[batch.places] = batch.targets
    network = RobertaForMaskedLM.from_pretrained(masked_job["out"].parent).eval()
    assert network.config._attn_implementation in ("sdpa", "eager")
    with torch.no_grad():
        expected = network(input_ids=batch.inputs, labels=labels).loss.item()
    found = losses(masked_job, "validation_nats")
    assert len(found) == 3 and found[0] > found[2] == pytest.approx(expected, rel=1e-5)


@pytest.mark.merge
def test_losses_are_those_of_a_plain_loop_of_transformers(masked_text):
    """From the same weights and masks: RobertaForMaskedLM's own loss, AdamW, 500 steps."""
    recipe = RECIPE | {"steps": 500, "micro_batch": 6, "learning_rate": 3e-3}
    rows = stream(masked_text, recipe)
    ours = masked_training.MaskedTraining(
        architectures.new(ARCHITECTURE, NONE, rows.vocabulary, 1), rows, recipe
    )
    model = architectures.new(ARCHITECTURE, NONE, rows.vocabulary, 1).train()
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-6)
    found, expected = [], []
    for step in range(1, 501):
        found.append(ours.step(step).item())
        batch = rows.batch((step - 1) * 6, 6)
        labels = torch.full_like(batch.inputs, -100)
        labels.view(-1)[batch.places] = batch.targets
        for group in adam.param_groups:
            group["lr"] = learning_rate(step, recipe)
        loss = model(input_ids=batch.inputs, labels=labels).loss
        loss.backward()
        adam.step()
        adam.zero_grad()
        expected.append(loss.item())
    assert np.abs(np.subtract(found, expected)).max() < 0.02
    assert np.mean(expected[-50:]) < np.mean(expected[:50]) - 1


@pytest.mark.merge
def test_where_only_order_matters_a_symmetric_bias_cannot_tell_and_an_offset_can():
    """Rows a ? b, whose middle is b; turned around they are as likely, and their middle is a."""
    vocabulary, draw = 13, np.random.default_rng(1)
    words = torch.from_numpy(draw.integers(5, vocabulary, (400, 3)))
    recipe = RECIPE | {"precision": "fp32"}
    shape = ARCHITECTURE | {"positions": "none", "heads": 4, "width": 32}
    left = {}
    for name, offset in (("symmetric", 0.0), ("offset", 0.5)):
        bias = {"form": "linear_both", "offset": offset, "slopes": [4.0, 2.0, 1.0, 0.5]}
        model = architectures.new(shape, bias, vocabulary, 1)
        run = masked_training.MaskedTraining(model, None, recipe)
        for group in run.optimizer.param_groups:
            group["lr"] = 3e-3
        for step in range(300):
            rows = words[draw.integers(0, 300, 32)]
            loss = _middle(run, rows)
            loss.backward()
            run.optimizer.step()
            run.optimizer.zero_grad()
        with torch.no_grad():
            left[name] = _middle(run, words[300:]).item()
    assert left["symmetric"] > 0.9 * np.log(2) * 7 / 8  # a and b are the same one time in eight
    assert left["offset"] < 0.1


def _middle(run, rows):
    """Return the mean loss of the middles of rows, which are what stands behind them."""
    inputs, targets = rows.clone(), rows[:, 2]
    inputs[:, 1] = 4
    return run.loss_sum(inputs, None, torch.arange(len(rows)) * 3 + 1, targets) / len(rows)


def test_the_tokenizer_has_robertas_entries(masked_text):
    from tokenizers import Tokenizer

    opened = Tokenizer.from_file(str(masked_text / "tokenizer.json"))
    assert opened.encode("the cat").ids[0] == BEGIN and opened.encode("the cat").ids[-1] == END
    assert opened.decode(opened.encode("the cat <mask>").ids) == "the cat "
    pair = opened.encode("the", "cat").ids
    assert [pair.index(END), pair[pair.index(END) + 1]] == [len(opened.encode("the").ids) - 1, END]
    known = entries(masked_text / "tokenizer.json", 290)
    assert (known.mask, known.words[0], len(known.words)) == (4, 5, 285)
    assert facts(masked_text)["end_of_document"] == END
    assert facts(masked_text)["separators"] == 150


def test_the_stretched_cosine_is_fairseqs():
    recipe = {"learning_rate": 6e-4, "minimum_learning_rate": 6e-5, "warmup_steps": 10_000,
              "steps": 133_082, "schedule": "stretched", "stretch": 1.1}  # fmt: skip
    assert learning_rate(5_000, recipe) == pytest.approx(3.3e-4)
    for n in (10_000, 60_000, 133_082):
        formula = 6e-5 + 0.5 * 5.4e-4 * (1 + np.cos(np.pi * (n - 10_000) / 146_390.2))
        assert learning_rate(n, recipe) == pytest.approx(formula)
