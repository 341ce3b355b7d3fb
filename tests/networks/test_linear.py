"""Linear layers by oneDNN, against PyTorch's own in float64."""

import copy

import pytest
import torch
from torch import nn

from recency.networks import linear, products


@pytest.fixture(autouse=True)
def by_another(monkeypatch):
    """Whatever processor this is, it is none of Intel's."""
    monkeypatch.setattr(products.processor, "by_intel", lambda: False)


needs_onednn = pytest.mark.skipif(
    not products.can_lay_out(torch.zeros(1, 1)), reason="this PyTorch has no oneDNN"
)


@needs_onednn
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shape", [(3, 17), (1, 1), (2, 4, 5)], ids=str)
@pytest.mark.parametrize("outputs", [5, 48, 16])
def test_products_and_gradients_are_those_of_float64(shape, outputs, bias):
    torch.manual_seed(1)
    exact = nn.Linear(16, outputs, bias=bias, dtype=torch.float64)
    fast = copy.deepcopy(exact).float()
    linear.by_onednn(nn.Sequential(fast))
    inputs = torch.randn(*shape, 16, dtype=torch.float64)
    weights = torch.randn(*shape, outputs, dtype=torch.float64)
    found = []
    for layer, dtype in ((exact, torch.float64), (fast, torch.float32)):
        given = inputs.to(dtype, copy=True).requires_grad_()
        made = layer(given)
        (made * weights.to(dtype)).sum().backward()
        found.append([made, given.grad, *(p.grad for p in layer.parameters())])
    for expected, got in zip(*found, strict=True):
        assert got.dtype == torch.float32
        torch.testing.assert_close(got.double(), expected, rtol=1e-5, atol=1e-5)


@needs_onednn
def test_only_what_is_float32_goes_to_onednn(monkeypatch):
    calls, times = [], products.times
    monkeypatch.setattr(products, "times", lambda *given: calls.append(1) or times(*given))
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4, dtype=torch.float64))
    linear.by_onednn(model)
    model[0](torch.zeros(2, 4))
    assert len(calls) == 1
    with torch.autocast("cpu", torch.bfloat16):
        assert model[0](torch.zeros(2, 4)).dtype == torch.bfloat16
    model[1](torch.zeros(2, 4, dtype=torch.float64))
    assert len(calls) == 1


@needs_onednn
def test_what_learns_nothing_gets_no_gradient():
    layer = nn.Linear(4, 4)
    layer.weight.requires_grad_(False)
    linear.by_onednn(layer)
    layer(torch.zeros(2, 4)).sum().backward()
    assert layer.weight.grad is None and layer.bias.grad is not None


@needs_onednn
def test_intels_processors_keep_pytorchs_own_products(monkeypatch):
    monkeypatch.setattr(products.processor, "by_intel", lambda: True)
    layer = nn.Linear(4, 4)
    linear.by_onednn(layer)
    assert "forward" not in vars(layer)
