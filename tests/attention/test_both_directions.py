"""Biases of masked LMs against their equations in float64 loops, by every backend, with padding."""

import math

import numpy as np
import pytest
import torch

from recency.attention import biased, blocks, dropout
from recency.attention.biases import build
from recency.attention.biases.linear import mixed_slopes
from recency.errors import InputError

HALVES = [2**-4, 2**-8, 2**-4, 2**-8]  # two heads back, two ahead


def one_sided(i, j, h):
    ahead = h >= 2
    return -HALVES[h] * abs(i - j) if i == j or (j > i) == ahead else -math.inf


CASES = {
    "linear_both": ({"slopes": 0.25}, lambda i, j, h: -0.25 * (abs(i - j) - 0.5 * (j > i))),
    "linear_both symmetric": (
        {"slopes": 0.25, "offset": 0},
        lambda i, j, h: -0.25 * abs(i - j),
    ),
    "two_slopes": (
        {"back": "mix", "ahead": [4, 3, 2, 1]},
        lambda i, j, h: 4.0 ** -(h + 1) * (j - i) if j <= i else (4 - h) * (i - j),
    ),
    "two_slopes learned": (
        {"back": 0.5, "ahead": 0.125, "learned": True},
        lambda i, j, h: 0.5 * (j - i) if j <= i else 0.125 * (i - j),
    ),
    "one_sided": ({}, one_sided),
    "one_sided uniform": (
        {"slopes": 1},
        lambda i, j, h: -math.inf if one_sided(i, j, h) == -math.inf else -abs(i - j),
    ),
}


class Module(torch.nn.Module):
    is_causal = False

    def __init__(self, bias):
        super().__init__()
        self.recency_bias = bias


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("padded", [pytest.param(False, marks=pytest.mark.merge), True])
@pytest.mark.parametrize("case", CASES)
def test_backends_equal_the_equation(case, padded):
    parameters, b = CASES[case]
    bias = build({"form": case.split()[0]} | parameters, 4).double()
    rng, length = np.random.default_rng(2), 30
    q, k, v = rng.normal(size=(3, 2, 4, length, 16))
    there = np.ones((2, length), bool)
    there[1, 22:] = not padded
    expected = np.zeros(q.shape)
    for n, h, i in np.ndindex(q.shape[:3]):
        seen = [j for j in range(length) if there[n, j] or i == j]
        scores = [q[n, h, i] @ k[n, h, j] / 4 + b(i, j, h) for j in seen]
        weights = np.exp(np.array(scores) - max(scores))
        expected[n, h, i] = (weights / weights.sum()) @ v[n, h, seen]
    mask = None
    if padded:
        mask = torch.from_numpy(there)[:, None, None].expand(2, 1, length, length)
    inputs = [torch.from_numpy(each) for each in (q, k, v)]
    for backend in (None, "sdpa", "softmax", *(["flex"] if not bias.learned else [])):
        got, _ = biased.biased_attention(Module(bias), *inputs, mask, backend=backend)
        np.testing.assert_allclose(got.detach().transpose(1, 2), expected, atol=2e-7)


def test_the_studys_table_of_the_offset():
    """Rows i, columns j, in units of the slope."""
    bias = build({"form": "linear_both", "slopes": 1}, 1)
    _, b = bias.dense(5, 5, torch.device("cpu"), torch.float64, causal=False)
    assert b[0, 0].tolist() == [
        [0, -0.5, -1.5, -2.5, -3.5],
        [-1, 0, -0.5, -1.5, -2.5],
        [-2, -1, 0, -0.5, -1.5],
        [-3, -2, -1, 0, -0.5],
        [-4, -3, -2, -1, 0],
    ]


def test_slopes_of_twelve_heads_are_those_of_the_studys_code():
    assert mixed_slopes(12) == [2 ** -float(h) for h in range(1, 9)] + [
        2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5,
    ]  # fmt: skip


def test_learned_slopes_of_both_directions_are_learned_apart():
    bias = build({"form": "two_slopes", "learned": True}, 4)
    _, b = bias.dense(6, 6, torch.device("cpu"), torch.float32, causal=False)
    b[..., 4, 1].sum().backward()  # back alone
    assert bias.log_back.grad.abs().min() > 0 and not bias.log_ahead.grad.any()
    # One number a head each: weight decay is on matrices alone.
    assert {p.dim() for p in bias.parameters()} == {1}


def test_heads_that_have_no_halves():
    with pytest.raises(InputError, match="one_sided: 3 heads have no halves"):
        build({"form": "one_sided"}, 3)


def test_a_gpu_takes_flex_for_both_directions():
    """With padding, too, but not with dropout of attention or learned slopes."""
    shape = (2, 4, 300, 64)
    assert biased._fastest("cuda", shape, False, False, True) == "flex"
    assert biased._fastest("cuda", shape, False, True, True) is None
    assert biased._fastest("cpu", shape, False, False, True) is None


def test_dropout_of_attention_on_a_cpu_is_that_of_its_draws(monkeypatch):
    """Outputs and gradients, rows with padding behind, against autograd with the same weights kept."""
    kept, drawn = [], blocks.Dropping.drawn
    monkeypatch.setattr(
        blocks.Dropping, "drawn", lambda self, shape: kept.append(drawn(self, shape)) or kept[-1]
    )
    monkeypatch.setattr(blocks, "QUERIES_AT_ONCE", 16)
    module, lengths = Module(build({"form": "one_sided"}, 4)), [40, 25]
    q, k, v, to = torch.randn(4, 2, 4, 40, 8, dtype=torch.float64)
    to[1, :, 25:] = 0.0
    there = torch.arange(40) < torch.tensor(lengths)[:, None]
    mask = there[:, None, None].expand(2, 1, 40, 40)
    ours, theirs = ([each.clone().requires_grad_() for each in (q, k, v)] for _ in range(2))
    output, _ = biased.biased_attention(module, *ours, mask, dropout=0.25)
    (output.transpose(1, 2) * to).sum().backward()
    assert not output[1, 25:].any()
    _, b = module.recency_bias.dense(40, 40, q.device, q.dtype, causal=False)
    total = 0.0
    for row, length in enumerate(lengths):
        query, key, value = (each[row, :, :length] for each in theirs)
        weights = torch.softmax(query @ key.mT / 8**0.5 + b[0, :, :length, :length], -1)
        blocks_of_row = [kept.pop(0) for _ in range(-(-length // 16))]
        left = weights * torch.cat(blocks_of_row, 1) / 0.75
        expected = left @ value
        torch.testing.assert_close(output[row, :length].transpose(0, 1), expected)
        total = total + (expected * to[row, :, :length]).sum()
    total.backward()
    for one, other in zip(ours, theirs):
        torch.testing.assert_close(one.grad, other.grad)
    assert not kept


def test_dropout_drops_as_often_as_it_says_and_keeps_the_mean():
    layer = dropout.Dropout(0.1)
    torch.manual_seed(1)
    numbers = torch.ones(1001, 999, requires_grad=True)
    found = layer(numbers)
    share = (found == 0).double().mean().item()
    assert share == pytest.approx(0.1, abs=5 * (0.09 / found.numel()) ** 0.5)
    assert found.max().item() == pytest.approx(1 / 0.9, rel=1e-4)
    found.sum().backward()
    assert torch.equal(numbers.grad, found)
    assert layer.eval()(numbers) is numbers
    torch.manual_seed(1)
    assert torch.equal(layer.train()(numbers), found)
