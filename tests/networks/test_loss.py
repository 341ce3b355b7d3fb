"""The loss of the output layer: its value and gradients against float64, whatever the chunks."""

import numpy as np
import pytest
import torch

from recency.networks import loss


def at_most(monkeypatch, tokens, entries):
    """Have chunks and blocks be small."""
    sizes = dict.fromkeys(loss.TOKENS_AT_ONCE, tokens)
    monkeypatch.setattr(loss, "TOKENS_AT_ONCE", sizes)
    monkeypatch.setattr(loss, "ENTRIES_AT_ONCE", entries)


@pytest.fixture
def data():
    draw = np.random.default_rng(0)
    hidden, weight = draw.normal(size=(2, 23, 8)), draw.normal(size=(40, 8))
    return hidden, weight, draw.integers(0, 40, (2, 23))


def brute_force(hidden, weight, targets, scale=1.0):
    """Return the loss and its gradients by the formula, a token at a time, in float64."""
    total, by_hidden, by_weight = 0.0, np.zeros(hidden.shape), np.zeros(weight.shape)
    for place in np.ndindex(targets.shape):
        scores = weight @ hidden[place]
        p = np.exp(scores - scores.max())
        p /= p.sum()
        total -= np.log(p[targets[place]])
        p[targets[place]] -= 1
        by_hidden[place] += scale * (p @ weight)
        by_weight += scale * np.outer(p, hidden[place])
    return total * scale, by_hidden, by_weight


@pytest.mark.parametrize("at_once", [1, 7, 46, 1000])
@pytest.mark.parametrize("entries", [1, 9, 40])
@pytest.mark.parametrize(
    "dtype,near,by_onednn",
    [(torch.float64, 1e-12, True), (torch.float32, 1e-5, True), (torch.float32, 1e-5, False)],
)
def test_value_and_gradients(data, monkeypatch, at_once, entries, dtype, near, by_onednn):
    at_most(monkeypatch, at_once, entries)
    hidden, weight = (torch.tensor(each, dtype=dtype, requires_grad=True) for each in data[:2])
    monkeypatch.setattr(loss.products.processor, "by_intel", lambda: not by_onednn)
    got = loss.cross_entropy_sum(hidden, weight, torch.tensor(data[2])) * 0.5
    got.backward()
    value, by_hidden, by_weight = brute_force(*data, scale=0.5)
    assert got.item() == pytest.approx(value, rel=near)
    np.testing.assert_allclose(hidden.grad, by_hidden, atol=near * 10)
    np.testing.assert_allclose(weight.grad, by_weight, atol=near * 10)
    with torch.no_grad():
        assert loss.cross_entropy_sum(hidden, weight, torch.tensor(data[2])) * 2 == pytest.approx(
            4 * value, rel=near
        )


@pytest.mark.parametrize("at_once,entries", [(1000, 1000), (7, 9)])
def test_bf16_products_leave_softmax_and_sums_exact(data, monkeypatch, at_once, entries):
    at_most(monkeypatch, at_once, entries)
    hidden = torch.tensor(data[0]).bfloat16().requires_grad_()
    weight = torch.tensor(data[1]).bfloat16().float().requires_grad_()
    got = loss.cross_entropy_sum(hidden, weight, torch.tensor(data[2]))
    got.backward()
    exact = hidden.detach().double().numpy(), weight.detach().double().numpy()
    value, by_hidden, by_weight = brute_force(*exact, data[2])
    assert got.dtype == weight.grad.dtype == torch.float32
    assert got.item() == pytest.approx(value, rel=1e-3)
    np.testing.assert_allclose(hidden.grad.float(), by_hidden, atol=0.03)
    np.testing.assert_allclose(weight.grad, by_weight, atol=0.03)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("spread", [0.05, 0.3])
def test_bf16_is_nearer_to_float64_than_whole_logits_are(spread, biased):
    """Beside what autocast does with logits that are held: products in bf16, softmax in float32."""

    def whole(hidden, weight, *bias):
        like = (each.to(hidden.dtype) for each in (weight, *bias))
        scores = torch.nn.functional.linear(hidden, *like).to(weight.dtype)
        return torch.nn.functional.cross_entropy(scores, targets, reduction="sum")

    def by_blocks(hidden, weight, *bias):
        return loss.cross_entropy_sum(hidden, weight, targets, *bias)

    def gradients(function, given):
        given = [each.clone().requires_grad_() for each in given]
        return torch.autograd.grad(function(*given), given)

    errors = []  # of each gradient, ours and theirs
    for seed in range(5):  # with one the likeliest entries' logits happen to be round numbers
        generator = torch.Generator().manual_seed(seed)
        hidden = torch.randn(200, 64, generator=generator).bfloat16()
        weight = (torch.randn(3000, 64, generator=generator) * spread).bfloat16().float()
        hidden[:, 0], weight[:, 0] = 8.0, torch.randn(3000, generator=generator).bfloat16()
        given = [hidden, weight, *[torch.randn(3000, generator=generator)] * biased]
        exactly = [each.double() for each in given]
        scores = torch.nn.functional.linear(*exactly)
        targets = torch.multinomial(scores.softmax(-1), 1, generator=generator)[:, 0]
        both = gradients(by_blocks, given), gradients(whole, given)
        for right, *found in zip(gradients(whole, exactly), *both, strict=True):
            errors.append([(each.double() - right).norm() / right.norm() for each in found])
    ours, theirs = torch.tensor(errors).view(5, -1, 2).unbind(-1)
    assert ((ours / theirs).median(0).values < 0.6).all()
    assert (theirs.median(0).values < 0.05).all()


def test_a_target_that_is_all_but_certain_keeps_its_small_gradient_in_bf16():
    """Where p is 1 - 1e-4, p rounded to bfloat16 would be 1, and the gradient nothing."""
    hidden = torch.ones(1, 1, dtype=torch.bfloat16, requires_grad=True)
    weight = torch.tensor([[9.25], [0.0]], requires_grad=True)
    loss.cross_entropy_sum(hidden, weight, torch.tensor([0])).backward()
    rest = 1 / (1 + np.exp(9.25))
    np.testing.assert_allclose(weight.grad[:, 0], [-rest, rest], rtol=4e-3)
    assert hidden.grad.item() == pytest.approx(-9.25 * rest, rel=8e-3)


def test_a_probability_too_small_for_a_float(data):
    """A target 1,000 nats below the best entry costs 1,000 nats, not infinity."""
    hidden = torch.tensor([[1.0]], requires_grad=True)
    got = loss.cross_entropy_sum(hidden, torch.tensor([[500.0], [-500.0]]), torch.tensor([1]))
    got.backward()
    assert got.item() == 1000 and hidden.grad.item() == 1000


@pytest.mark.parametrize("dtype,near", [(torch.float64, 1e-12), (torch.bfloat16, 2e-2)])
def test_what_a_gpu_compiles_is_the_same(data, dtype, near):
    """The formula that is compiled for a GPU, run as it is, against the one for a CPU."""
    hidden, weight = (torch.tensor(each.reshape(-1, 8)).to(dtype) for each in data[:2])
    targets = torch.tensor(data[2].ravel())
    expected = loss._by_blocks(hidden, weight, targets, True)
    for got, exact in zip(loss._by_chunks(hidden, weight, targets, True), expected, strict=True):
        torch.testing.assert_close(got, exact, rtol=near, atol=near * 10, check_dtype=False)


def test_what_a_gpu_compiles_needs_no_second_buffer(data):
    logits = torch.tensor(data[0].reshape(-1, 8) @ data[1].T)
    expected, targets = logits.softmax(-1), torch.tensor(data[2].ravel())
    losses = loss.softmax_minus_target(logits, targets)
    torch.testing.assert_close(losses, -expected[torch.arange(46), targets].log())
    expected[torch.arange(46), targets] -= 1
    torch.testing.assert_close(logits, expected)


@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("way", ["by oneDNN", "by PyTorch", "as on a GPU"])
def test_an_output_bias(data, monkeypatch, way, shift):
    """Against autograd on whole logits, by several blocks; a target far below another entry, too."""
    at_most(monkeypatch, 7, 9)
    hidden, weight = (
        torch.tensor(each, dtype=torch.float32, requires_grad=True) for each in data[:2]
    )
    bias = torch.linspace(-1, 1, 40)
    bias[3] += shift
    bias.requires_grad_()
    targets = torch.tensor(data[2])
    logits = (hidden.double() @ weight.double().T + bias.double()).flatten(0, 1)
    expected = torch.nn.functional.cross_entropy(logits, targets.flatten(), reduction="sum")
    gradients = torch.autograd.grad(expected, [hidden, weight, bias])
    if way == "as on a GPU":
        flat = hidden.detach().flatten(0, 1)
        losses, *found = loss._by_chunks(flat, weight.detach(), targets.flatten(), True, bias)
        total = losses.sum()
    else:
        monkeypatch.setattr(loss.products.processor, "by_intel", lambda: way == "by PyTorch")
        total = loss.cross_entropy_sum(hidden, weight, targets, bias)
        found = torch.autograd.grad(total, [hidden, weight, bias])
    torch.testing.assert_close(total.double(), expected, rtol=1e-5, atol=0)
    for ours, theirs in zip(found, gradients):
        torch.testing.assert_close(ours.view_as(theirs), theirs, rtol=1e-4, atol=1e-4)
