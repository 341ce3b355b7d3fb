"""The fused kernel of a GPU, as PyTorch traces it for one that is not here."""

from functools import partial

import pytest
import torch
from test_biases import Module
from torch._dynamo.utils import counters

from recency.attention import biased
from recency.attention.biases import build


@pytest.mark.merge
def test_a_second_bias_of_a_form_is_compiled_as_the_first(monkeypatch):
    """A break in the graph would leave the fused kernel unseen; traced here as for a GPU."""
    traced = partial(torch.compile, backend="aot_eager")
    monkeypatch.setattr(torch, "compile", traced)
    monkeypatch.setattr(biased.flex, "_validate_device", lambda *tensors: None)
    attend = biased._compiled_flex.__wrapped__()
    counters.clear()
    for decay in (0.5, 0.8, 1.3):
        bias = build({"form": "power_law", "decay": decay}, 4)
        q, k, v = torch.randn(3, 2, 4, 200, 16, requires_grad=True).unbind()

        def changed(score, batch, head, i, j, bias=bias):
            a, b = bias(head, i, j, 200)
            return a * score + b

        expected, _ = biased.biased_attention(Module(bias), q, k, v, None, backend="softmax")
        blocks = biased.visible_blocks(None, 200, 200, q.device)
        got = attend(q, k, v, score_mod=changed, block_mask=blocks)
        torch.testing.assert_close(got.transpose(1, 2), expected, atol=1e-5, rtol=0)
    assert not counters["graph_break"]


def test_a_gpu_compiles_for_training_alone():
    """Each length of a text would be compiled by itself."""
    shape = (2, 4, 300, 64)
    assert biased._fastest("cuda", shape, True, False, True) == "flex"
    with torch.inference_mode():
        assert biased._fastest("cuda", shape, True, False, True) is None
        assert biased._fastest("cpu", shape, True, True, False) == "blocks"
    assert biased._fastest("cuda", shape, True, True, True) is None
    assert biased._fastest("cuda", shape, True, False, False) is None
    assert biased._fastest("cpu", (2, 4, 100, 64), True, False, True) is None
    assert biased._fastest("cpu", shape, False, False, True) is None  # both directions
