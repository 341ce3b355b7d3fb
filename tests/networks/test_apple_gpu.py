"""The check of Apple's GPU, with a processor that computes wrongly in its place."""

import warnings

import pytest
import torch

import recency
from recency.networks import apple_gpu
from scored_families import TEXTS, in_double, tokenizer
from scored_families import network as family


def right(kernel, inputs):
    return kernel(*(tensor.clone() for tensor in inputs))


def test_right_kernels_pass_and_rounding_is_no_fault():
    assert apple_gpu.find_fault(right) == ""
    assert apple_gpu.find_fault(lambda kernel, inputs: right(kernel, inputs) * (1 + 1e-6)) == ""


@pytest.mark.parametrize("name", apple_gpu.kernels())
@pytest.mark.parametrize("fault", ["off", "missing", "not a number"])
def test_a_wrong_kernel_is_named(name, fault):
    """One number of one output is off, as of a kernel that skips a stride; or there is none."""
    wrong = right(*apple_gpu.kernels()[name])

    def compute(kernel, inputs):
        found = right(kernel, inputs)
        if found.shape != wrong.shape or not torch.equal(found, wrong):
            return found
        if fault == "missing":
            raise NotImplementedError(f"no {name} on this device\nfor 5 reasons")
        found = found.clone()
        found[(0,) * found.ndim] += 0.01 if fault == "off" else torch.nan
        return found

    reason = f": no {name} on this device" if fault == "missing" else ""
    assert apple_gpu.find_fault(compute) == name + reason


@pytest.fixture
def there(monkeypatch):
    """Have the processor stand for Apple's GPU."""
    monkeypatch.setattr(apple_gpu, "DEVICE", "cpu")
    monkeypatch.setattr(apple_gpu, "is_available", lambda: True)
    apple_gpu._is_trusted.cache_clear()
    yield monkeypatch
    apple_gpu._is_trusted.cache_clear()


def test_a_fault_is_warned_of_once_and_surprisal_is_the_same(there):
    network = family("GPT2")
    expected = recency.surprisal(TEXTS, network, tokenizer())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recency.surprisal(TEXTS, network, tokenizer()).equals(expected)

    def flush(kernel, inputs):
        return right(kernel, inputs).clamp(min=0)

    there.setattr(apple_gpu, "compute_there", flush)
    apple_gpu._is_trusted.cache_clear()
    with pytest.warns(recency.InputWarning, match="the kernel `embedding`; the processor is"):
        assert recency.surprisal(TEXTS, network, tokenizer()).equals(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recency.surprisal(TEXTS, network, tokenizer()).equals(expected)


def test_a_network_that_computes_otherwise_there_stays_on_the_processor(there):
    """Its layers fail on the device only, whatever the kernels say."""
    network, moved = family("GPT2"), []
    there.setattr(network, "to", lambda device: moved.append(device))
    handle = network.lm_head.register_forward_hook(lambda *given: given[2] * (1 + len(moved)))
    message = "the output of GPT2LMHeadModel; the processor is used"
    with pytest.warns(recency.InputWarning, match=message), apple_gpu.layers_moved(network):
        assert moved == ["cpu", "cpu"]
    handle.remove()
    with apple_gpu.layers_moved(in_double(network)):
        assert moved == ["cpu"] * 3  # not moved
