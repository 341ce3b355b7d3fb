"""Training with lossy contexts: its rows by hand, its loss by a loop, and resuming bit by bit."""

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer, models

from recency.errors import InputError
from recency.networks import architectures, train
from recency.networks.lossy_training import LossyRows, LossyTraining
from recency.networks.stream import TokenStream
from recency.networks.training import Training
from training_job import RECIPE, assert_same_after_a_kill, losses, write_stream

HALF = {"erasure": {"form": "exponential", "half_life": 2}, "segment": 4}
ALL = {"erasure": {"form": "exponential", "rate": 0}, "segment": 4}
# Entry 0 ends documents; those from 16 on begin a word.
ENTRIES = {"<|endoftext|>": 0} | {f"{'Ġ' * (n >= 16)}{n}": n for n in range(1, 32)}


@pytest.fixture
def text(tmp_path):
    """Tokens of documents of 3 to 60 tokens, and their tokenizer."""
    rng = np.random.default_rng(6)
    tokens = []
    while len(tokens) < 1700:
        tokens += [*rng.integers(1, 32, rng.integers(3, 60)), 0]
    tokenizer = Tokenizer(models.WordLevel(ENTRIES, unk_token="1"))
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.save(str(tmp_path / "words.json"))
    return np.array(tokens), *write_stream(tmp_path, tokens), tmp_path / "words.json"


def rows(text, lossy, **settings):
    recipe = RECIPE | {"lossy": lossy, "order": "sequential"} | settings
    return LossyRows(*text[1:], recipe, 1)


def words_back(tokens, start, first):
    """Return words of a context, nearest first: (words back, tokens), by a loop over tokens."""
    back = 1 if tokens[start] >= 16 or tokens[start] == 0 else 0
    words, current = [], []
    for at in range(start - 1, first - 1, -1):
        if tokens[at] == 0:
            break
        current.insert(0, int(tokens[at]))
        if tokens[at] >= 16:
            words.append((back, current))
            back, current = back + 1, []
    return words + ([(back, current)] if current else [])


@pytest.mark.parametrize("segment", [1, 4, 8])
def test_rows_are_retained_words_and_a_segment(text, segment):
    """Truncation to 2 words: nothing of the retention is random."""
    tokens = text[0]
    lossy = {"erasure": {"form": "truncation", "words": 2}, "segment": segment}
    stream = rows(text, lossy)
    assert stream.rows == len(tokens) // segment // (16 // segment)
    number, targets = 0, []
    for first in range(0, stream.rows * stream.parts, 7):
        count = min(7, stream.rows * stream.parts - first)
        inputs, places, asked = stream.batch(first, count)
        asked = asked.reshape(count, segment)
        places = places.reshape(count, segment)
        for row in range(count):
            start = number * segment
            context = words_back(tokens, start, max(0, start - 16 + segment))
            retained = [t for back, word in reversed(context) if back <= 2 for t in word]
            here = tokens[start : start + segment].tolist()
            expected = [0, *retained, *here[:-1]]
            assert inputs[row, : len(expected)].tolist() == expected
            assert (inputs[row, len(expected) :] == 0).all()
            ends = row * inputs.shape[1] + len(expected)
            assert places[row].tolist() == list(range(ends - segment, ends))
            targets += asked[row].tolist()
            number += 1
    assert targets == tokens[: len(targets)].tolist()  # each a target once, in order
    inputs, _, _ = stream.batch(number, 3)  # the next epoch
    np.testing.assert_array_equal(inputs, stream.batch(0, 3)[0])


def test_words_are_retained_whole_with_their_probability(text):
    """Over many epochs; the words of one row independently, those of a segment always."""
    tokens, stream = text[0], rows(text, HALF)
    segment = max(range(400), key=lambda s: len(words_back(tokens, 4 * s, max(0, 4 * s - 12))))
    start = 4 * segment
    context = words_back(tokens, start, start - 12)
    assert len(context) >= 4
    seen = []
    for epoch in range(2000):
        row = stream.row(stream.tokens, segment, (1, epoch, segment))
        assert row[-4:].tolist() == tokens[start : start + 4].tolist() and row[0] == 0
        kept, rest = [], row[1:-4].tolist()
        for _, word in context:  # nearest first
            is_kept = rest[len(rest) - len(word) :] == word
            kept.append(is_kept)
            rest = rest[: len(rest) - len(word)] if is_kept else rest
        assert not rest
        seen.append(kept)
    expected = [0.5 ** (max(back - 1, 0) / 2) for back, _ in context]
    np.testing.assert_allclose(np.mean(seen, 0), expected, atol=0.05)
    assert abs(np.corrcoef(np.array(seen)[:, -2:].T)[0, 1]) < 0.1


def test_orders_epochs_and_validation(text):
    """Shuffled rows are each segment once an epoch; nothing held out is trained on."""
    tokens = text[0]
    stream = rows(text, ALL, order="shuffled", validation={"tokens": 300, "every": 5})
    count = stream.rows * stream.parts
    segments = [[stream._epoch_and_row(e * count + n)[1] for n in range(count)] for e in (0, 1)]
    assert segments[0] != segments[1] and len(set(segments[0])) == count
    assert not set(segments[0]) & set(stream.validation.tolist())
    first, again = stream.validation_batch(2, 5), stream.validation_batch(2, 5)
    for one, other in zip(first, again):
        torch.testing.assert_close(one, other)
    expected = np.concatenate([tokens[4 * s : 4 * s + 4] for s in stream.validation[2:7]])
    np.testing.assert_array_equal(first[-1], expected)


def new_network(bias=None, seed=1):
    shape = {
        "family": "gpt_neox", "layers": 2, "heads": 2, "width": 16, "feed_forward": 32,
        "context": 16, "rotary_fraction": 0.25,
    }  # fmt: skip
    return architectures.new(shape, bias or {"form": "linear", "slopes": "mix"}, 32, seed)


def test_a_step_has_the_loss_and_gradient_of_a_loop(text):
    """As many targets as without erasures; micro-batches change nothing but rounding."""
    stream = rows(text, HALF)
    grads, totals = [], []
    for micro in (1, 4):
        run = LossyTraining(new_network(), stream, RECIPE | {"lossy": HALF, "micro_batch": micro})
        run._update = lambda: None
        totals.append(run.step(2).item())
        grads.append([p.grad.clone() for p in run.model.parameters()])
        run.model.zero_grad()
    model = new_network().train()
    total, count = torch.zeros(()), 0
    for number in range(16, 32):  # the second step: 4 sequences of 4 segments
        row = stream.row(stream.tokens, number, (1, 0, number))
        log = model(torch.tensor(row[None, :-1]), use_cache=False).logits[0].log_softmax(-1)
        at = torch.arange(len(row) - 5, len(row) - 1)
        total = total - log[at, torch.tensor(row[-4:])].sum()
        count += 4
    assert count == RECIPE["batch_sequences"] * RECIPE["sequence_length"]
    (total / count).backward()
    expected = [p.grad for p in model.parameters()]
    for gradients, loss in zip(grads, totals):
        assert loss == pytest.approx((total / count).item(), rel=1e-5)
        for one, other in zip(gradients, expected):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)


def test_full_retention_has_the_loss_of_plain_rows(tmp_path):
    """A row that begins a document: its segments' losses add up to that of the plain row."""
    rng = np.random.default_rng(2)
    tokens = np.concatenate([[0, *rng.integers(1, 32, 16)] for _ in range(60)])
    files = write_stream(tmp_path, tokens)
    Tokenizer(models.WordLevel(ENTRIES, unk_token="1")).save(str(tmp_path / "words.json"))
    model = new_network().eval()
    plain = Training(model, TokenStream(*files, 16, "sequential", 1), RECIPE)
    with torch.no_grad():
        expected = plain.loss_sum(*plain.stream.batch(0, 3)).item()
    recipe = RECIPE | {"lossy": ALL, "order": "sequential"}
    stream = LossyRows(*files, tmp_path / "words.json", recipe, 1)
    lossy = LossyTraining(model, stream, recipe)
    total = 0.0
    for start in (1, 18, 35):  # the documents' first words; their segments need not begin there
        document = np.concatenate([[0] * 3, tokens[start - 1 : start + 16]])  # 20: segments of 4
        document.astype("<u2").tofile(tmp_path / "one.bin")
        stream.tokens = np.memmap(tmp_path / "one.bin", "<u2", "r")
        segments = [stream.row(stream.tokens, number, (1, 0, number)) for number in range(1, 5)]
        with torch.no_grad():
            total += lossy.loss_sum(*stream._join_rows(segments)).item()
    assert total == pytest.approx(expected, rel=1e-5)


def test_erased_tokens_cannot_matter(text):
    """Other words where all is erased: the same loss, to the last bit."""
    erased = {"erasure": {"form": "truncation", "words": 1}, "segment": 4}
    tokens, bins, info, tokenizer = text
    recipe = RECIPE | {"lossy": erased}
    stream = LossyRows(bins, info, tokenizer, recipe, 1)
    run = LossyTraining(new_network().eval(), stream, recipe)
    number = next(
        s for s in range(10, 400)
        if tokens[4 * s] >= 16 and (tokens[4 * s - 12 : 4 * s] > 0).all()
        and (tokens[4 * s - 8 : 4 * s] >= 16).any()
    )  # fmt: skip
    start = 4 * number
    last = start - 1 - int(np.argmax(tokens[start - 12 : start][::-1] >= 16))  # the word before
    changed = tokens.copy()
    changed[start - 12 : last] = (changed[start - 12 : last] % 31) + 1
    results = []
    for here in (tokens, changed):
        row = stream.row(here, number, (1, 0, number))
        with torch.no_grad():
            results.append(run.loss_sum(*stream._join_rows([row])).item())
    assert results[0] == results[1] and (changed != tokens).any()
    changed[last + (last + 1 < start)] = changed[last + (last + 1 < start)] % 31 + 1
    changed[last] = 17 if tokens[last] != 17 else 18
    with torch.no_grad():
        row = stream.row(changed, number, (1, 0, number))
        assert run.loss_sum(*stream._join_rows([row])).item() != results[0]


@pytest.mark.merge
@pytest.mark.parametrize(
    "erasure",
    [
        HALF["erasure"],
        pytest.param(
            {"form": "frequency", "slope": -1.0, "intercept": 7.0}, marks=pytest.mark.merge
        ),
    ],
)
def test_a_killed_job_ends_with_the_same_bits(job, tmp_path, monkeypatch, clock, erasure):
    validation = {"tokens": 300, "every": 20}
    lossy = {"erasure": erasure, "segment": 4}
    job["recipe"] = RECIPE | {"lossy": lossy, "validation": validation}
    train.main(**job)
    expected = load_file(job["out"].parent / "model.safetensors"), losses(job)
    assert np.mean(expected[1][-5:]) < expected[1][0] - 0.5  # it learns
    assert len(losses(job, "validation_nats")) == 3
    assert_same_after_a_kill(job, expected, 33, tmp_path, monkeypatch)


def test_frequencies_are_of_the_tokens(text):
    """A word's Zipf frequency is that of the product of its tokens' shares, one count added to each."""
    tokens = text[0]
    erasure = {"form": "frequency", "slope": -40.0, "intercept": 40 * 7.4}
    stream = rows(text, {"erasure": erasure, "segment": 4})
    share = (np.bincount(tokens, minlength=32) + 1) / (len(tokens) + 32)
    checked = 0
    for segment in range(3, 200):
        start = 4 * segment
        expected = []
        for back, word in words_back(tokens, start, max(0, start - 12)):
            zipf = 9 + sum(np.log10(share[t]) for t in word)
            if abs(zipf - 7.4) < 0.25 and back:
                break
            if back == 0 or zipf < 7.4:
                expected = word + expected
        else:
            row = stream.row(stream.tokens, segment, (1, 0, segment))
            assert row[1:-4].tolist() == expected
            checked += 1
    assert checked > 20


def test_what_cannot_be_trained_on_is_refused(text, tmp_path):
    with pytest.raises(InputError, match="'primacy_recency' depends on the length of a row"):
        LossyTraining(new_network({"form": "primacy_recency"}), rows(text, HALF), RECIPE)
    info = json.loads(text[2].read_text())
    text[2].write_text(json.dumps(info | {"end_of_document": None}))
    with pytest.raises(InputError, match="no token ends its documents"):
        rows(text, HALF)
