"""The loss of the output layer: its value and gradients against float64, whatever the chunks."""

import numpy as np
import pytest
import torch

from recency.networks import loss


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
@pytest.mark.parametrize("dtype,near", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_value_and_gradients(data, monkeypatch, at_once, dtype, near):
    monkeypatch.setitem(loss.TOKENS_AT_ONCE, "cpu", at_once)
    monkeypatch.setattr(loss, "ROWS_AT_ONCE", 5)
    hidden, weight = (torch.tensor(each, dtype=dtype, requires_grad=True) for each in data[:2])
    got = loss.cross_entropy_sum(hidden, weight, torch.tensor(data[2])) * 0.5
    got.backward()
    value, by_hidden, by_weight = brute_force(*data, scale=0.5)
    assert got.item() == pytest.approx(value, rel=near)
    np.testing.assert_allclose(hidden.grad, by_hidden, atol=near * 10)
    np.testing.assert_allclose(weight.grad, by_weight, atol=near * 10)


def test_bf16_products_leave_softmax_and_sums_exact(data):
    hidden = torch.tensor(data[0]).bfloat16().requires_grad_()
    weight = torch.tensor(data[1]).bfloat16().float().requires_grad_()
    got = loss.cross_entropy_sum(hidden, weight, torch.tensor(data[2]))
    got.backward()
    exact = hidden.detach().double().numpy(), weight.detach().double().numpy()
    value, by_hidden, by_weight = brute_force(*exact, data[2])
    assert got.dtype == weight.grad.dtype == torch.float32
    assert got.item() == pytest.approx(value, rel=2e-3)
    np.testing.assert_allclose(hidden.grad.float(), by_hidden, atol=0.1)
    np.testing.assert_allclose(weight.grad, by_weight, atol=0.1)


def test_a_probability_too_small_for_a_float(data):
    """A target 1,000 nats below the best entry costs 1,000 nats, not infinity."""
    hidden = torch.tensor([[1.0]], requires_grad=True)
    got = loss.cross_entropy_sum(hidden, torch.tensor([[500.0], [-500.0]]), torch.tensor([1]))
    got.backward()
    assert got.item() == 1000 and hidden.grad.item() == 1000


@pytest.mark.parametrize("dtype,near", [(torch.float64, 1e-12), (torch.bfloat16, 2e-2)])
def test_what_a_gpu_compiles_is_the_same(data, dtype, near):
    """The formula that is compiled for a GPU, run as it is, against the one for a CPU."""
    logits = torch.tensor(data[0].reshape(-1, 8) @ data[1].T).to(dtype)
    targets = torch.tensor(data[2].ravel())
    gradient, losses = loss.softmax_minus_target(logits, targets)
    expected = torch.empty_like(losses)
    loss._softmax_minus_target(copy := logits.clone(), targets, expected)
    torch.testing.assert_close(losses, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(gradient, copy, rtol=near, atol=near)
