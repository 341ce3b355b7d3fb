"""How the network is run: laid-out weights against float64, batches halved where memory is short."""

import os

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from readingtimes import parquet_bounds as memory
from recency.errors import InputError
from recency.networks import architectures, footprint, products
from recency.scoring import alignment, causal, forward, output_layer
from recency.scoring.forward import Window
from small_networks import TINY, byte_tokenizer


def gpt2(**settings):
    torch.manual_seed(1)
    size = {"n_layer": 2, "n_embd": 48, "n_head": 4, "n_positions": 64, "vocab_size": 300}
    return GPT2LMHeadModel(GPT2Config(**size | settings, bos_token_id=0, eos_token_id=0)).eval()


def neox():
    return architectures.new(TINY, {"form": "none"}, 300, 1).eval()


def batch_of(rows, length, seed=1):
    drawn = np.random.default_rng(seed).integers(0, 300, (rows, length))
    return [Window(n, ids.tolist(), 0, 0) for n, ids in enumerate(drawn)]


@torch.inference_mode()
def ran(model, batch):
    return list(forward.run(model, [batch]))


def states(model, batch):
    return torch.cat([output[0] for _, output in ran(model, batch)])


@torch.inference_mode()
def directly(model, batch):
    ids = torch.tensor([each.ids for each in batch])
    return model.base_model(input_ids=ids, use_cache=False)[0]


def as_gelu(model):
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child).__name__ == "NewGELUActivation":
                setattr(module, name, torch.nn.GELU("tanh"))
    return model


@pytest.fixture
def always_laid_out(monkeypatch):
    if not products.can_lay_out(torch.zeros(1, 1)):
        pytest.skip("PyTorch has no oneDNN here")
    monkeypatch.setattr(forward, "WORTH_A_LAYOUT", 1)
    monkeypatch.setattr(output_layer, "WORTH_A_LAYOUT", 1)


@pytest.mark.parametrize("make", [gpt2, lambda: as_gelu(gpt2()), neox])
def test_laid_out_weights_give_the_same_states(make, always_laid_out):
    model, batch = make(), batch_of(3, 40)
    got = states(model, batch)
    linear = [module for module in model.base_model.modules() if forward._is_linear(module)]
    assert len(linear) == 8 and all(module in forward._LAYOUTS for module in linear)
    exact = directly(model.double(), batch)
    torch.testing.assert_close(got.double(), exact, atol=2e-5, rtol=0)
    assert not any("forward" in vars(module) for module in model.modules())


def test_layouts_are_made_anew_where_weights_change(always_laid_out):
    model, batch = gpt2(), batch_of(2, 30)
    before = states(model, batch)
    with torch.no_grad():
        for parameter in model.base_model.h[0].mlp.c_fc.parameters():
            parameter.mul_(3)
    got = states(model, batch)
    assert (got - before).abs().max() > 1e-3
    torch.testing.assert_close(got, directly(model, batch), atol=2e-5, rtol=0)
    model.base_model.h[0].mlp.c_fc.weight.data = torch.zeros(48, 192)
    torch.testing.assert_close(states(model, batch), directly(model, batch), atol=2e-5, rtol=0)


def test_weights_of_inference_mode_are_not_laid_out(always_laid_out):
    """Nothing would tell that they were changed."""
    with torch.inference_mode():
        model = gpt2()
        before = states(model, batch_of(2, 30))
        model.base_model.h[0].mlp.c_fc.weight.mul_(3)
        assert (states(model, batch_of(2, 30)) - before).abs().max() > 1e-3


def test_laid_out_scores_against_float64(always_laid_out):
    model = gpt2()
    with torch.no_grad():
        model.lm_head.weight *= 20
    tokenizer = byte_tokenizer()
    kind = alignment.kinds(tokenizer)
    kind = np.append(kind, np.zeros(max(0, 300 - len(kind)), np.int8))[:300]
    ids = [np.array(each.ids) for each in batch_of(4, 50)]
    layer = output_layer.OutputLayer(model, kind)
    got = causal.score(model, ids, kind, 0, output_layer=layer)
    assert layer.products and not len(layer.weight)  # in place of the sorted copy
    model.double()
    for text, found in zip(ids, got):
        with torch.inference_mode():
            logits = model(torch.tensor([[0, *text]])).logits[0]
            log = torch.log_softmax(logits, -1).numpy()
        np.testing.assert_allclose(found.log_probability, log[np.arange(50), text], atol=2e-5)
        spaces = np.logaddexp.reduce(log[:, kind == alignment.SPACE], axis=1)
        np.testing.assert_allclose(found.log_space, spaces, atol=2e-5)


class Small(GPT2LMHeadModel):
    """A network whose device has room for so many inputs at once."""

    room, ran, error = 64, (), torch.OutOfMemoryError

    def __init__(self, config):
        super().__init__(config)
        inner = self.transformer.forward

        def forward(input_ids, **settings):
            if input_ids.numel() > self.room:
                raise self.error("DefaultCPUAllocator: can't allocate memory")
            self.ran = (*self.ran, tuple(input_ids.shape))
            return inner(input_ids=input_ids, **settings)

        self.transformer.forward = forward


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError])
def test_a_batch_that_does_not_fit_is_halved(error):
    model = Small(gpt2().config).eval()
    model.error = error
    batch = batch_of(7, 30)
    got = ran(model, batch)
    assert [each.text for part, _ in got for each in part] == list(range(7))  # none lost or twice
    assert model.ran == ((1, 30), (2, 30), (2, 30), (2, 30))
    whole = torch.cat([output[0] for _, output in got])
    model.room = 10_000
    torch.testing.assert_close(whole, states(model, batch), atol=2e-5, rtol=0)


def test_a_window_that_does_not_fit_is_one_line():
    model = Small(gpt2().config).eval()
    model.room = 20
    with pytest.raises(InputError, match=r"with a window of 30 tokens: set `window` to fewer"):
        ran(model, batch_of(2, 30))


def test_other_errors_are_not_taken_for_a_lack_of_memory():
    model = Small(gpt2().config).eval()
    model.room, model.error = 0, ValueError
    with pytest.raises(ValueError, match="DefaultCPUAllocator"):
        ran(model, batch_of(1, 8))


def test_a_cpu_is_asked_for_no_more_than_it_has(monkeypatch):
    model = gpt2()
    monkeypatch.setattr(footprint, "SURE", 0)
    monkeypatch.setattr(memory, "available", lambda: forward._estimate_bytes(model, 2, 30) + 1)
    parts = [len(part) for part, _ in ran(model, batch_of(7, 30))]
    assert parts == [1, 2, 2, 2]
    monkeypatch.setattr(memory, "available", lambda: 10.0)
    with pytest.raises(InputError, match="does not fit the memory of the cpu"):
        ran(model, batch_of(1, 30))


@pytest.mark.skipif(not os.path.exists("/proc/meminfo"), reason="no /proc here")
def test_what_is_available_is_a_part_of_the_memory():
    page, most = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    assert page * most / 100 < memory.available() <= page * most


def test_attention_without_a_fused_kernel_needs_the_square_of_the_window():
    model = gpt2()
    fused = forward._estimate_bytes(model, 1, 64)
    model.set_attn_implementation("eager")
    assert forward._estimate_bytes(model, 1, 64) - fused == 4 * 2 * 64**2 * 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("make", [gpt2, neox])
def test_a_gpu_gives_what_a_cpu_gives(make):
    model, kind = make(), np.zeros(300, np.int8)
    ids = [np.array(each.ids) for each in batch_of(4, 50)]
    expected = causal.score(model, ids, kind, 0)
    got = causal.score(model.cuda(), ids, kind, 0)
    for one, other in zip(got, expected):
        np.testing.assert_allclose(one.log_probability, other.log_probability, atol=1e-3)
