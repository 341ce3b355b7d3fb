"""Apple's GPU (`mps`) for a network's layers, if it computes as the processor does.

Its kernels have been wrong without an error, depending on the system, PyTorch, strides and shapes. So
small kernels of the kinds that networks use are compared with the processor's once per process, and
each network's output on a short text each time. It knows no float64: the output layer and all sums
stay on the processor.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

from recency.attention.short_texts import ROUNDING_OTHERS, distance, draw_texts
from recency.errors import first_line, warn

DEVICE = "mps"
Kernel = Callable[..., torch.Tensor]
_FAILURES = (RuntimeError, TypeError)


def is_available() -> bool:
    """Return whether PyTorch sees Apple's GPU."""
    return torch.backends.mps.is_available()


def kernels() -> dict[str, tuple[Kernel, list[torch.Tensor]]]:
    """Return name → a kernel and random inputs, float32."""
    generator = torch.Generator().manual_seed(1)
    mask = torch.ones(33, 33).triu(1).bool()

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    def numbers(most: int, *shape: int) -> torch.Tensor:
        return torch.randint(most, shape, generator=generator)

    def attend(query, key, value, bias=None):
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=bias, is_causal=bias is None
        )

    heads = [draw(2, 33, 4, 16).transpose(1, 2) for _ in range(3)]
    return {
        "embedding": (F.embedding, [numbers(50, 2, 33), draw(50, 64)]),
        "linear": (F.linear, [draw(2, 33, 64), draw(96, 64), draw(96)]),
        "linear of a transposed tensor": (
            lambda x, w: F.linear(x.transpose(1, 2), w),
            [draw(2, 64, 33), draw(96, 64)],
        ),
        "addmm of a slice": (torch.addmm, [draw(96), draw(33, 80)[:, 8:72], draw(64, 96)]),
        "softmax": (
            lambda x, m: x.masked_fill(m, -torch.inf).softmax(-1),
            [draw(2, 4, 33, 33), mask],
        ),
        "causal attention": (attend, heads),
        "attention with a bias": (attend, [*heads, draw(4, 33, 33).masked_fill(mask, -torch.inf)]),
        "layer_norm": (lambda x, w: F.layer_norm(x, (64,), w, w), [5 + draw(2, 33, 64), draw(64)]),
        "gelu": (lambda x: F.gelu(x, approximate="tanh") + F.gelu(x), [4 * draw(2, 33, 64)]),
        "rotary positions": (
            lambda x: torch.cat([-x[..., 8:], x[..., :8]], -1) * x.sin() + x * x.cos(),
            [8 * draw(2, 4, 33, 16)],
        ),
        "cumsum": (lambda x: x.cumsum(1), [draw(2, 33, 16)]),
        "scatter_add": (
            lambda x, at, more: x.scatter_add(1, at, more),
            [draw(8, 50), numbers(50, 8, 33), draw(8, 33)],
        ),
        "index_put": (
            lambda x, at, rows: x.index_put((at,), rows),
            [draw(50, 64), torch.randperm(50, generator=generator)[:33], draw(33, 64)],
        ),
        "addcmul_ of a transposed tensor": (
            lambda x, y, z: x.clone().t().addcmul_(y, z),
            [draw(64, 33), draw(33, 64), draw(33, 64)],
        ),
    }


def compute_there(kernel: Kernel, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return a kernel's output, computed on Apple's GPU."""
    return kernel(*(tensor.to(DEVICE) for tensor in inputs)).cpu()


def find_fault(compute: Callable[[Kernel, Sequence[torch.Tensor]], torch.Tensor]) -> str:
    """Return the first kernel that `compute` has other numbers for than the processor, "" if none."""
    for name, (kernel, inputs) in kernels().items():
        expected = kernel(*inputs)
        try:
            found = compute(kernel, inputs)
        except _FAILURES as error:
            return f"{name}: {first_line(error)}"
        largest = ROUNDING_OTHERS * expected.abs().max()
        if found.shape != expected.shape or not (found - expected).abs().max() <= largest:
            return name
    return ""


@functools.cache
def _is_trusted() -> bool:
    """Return whether all kernels are right; warn of the first that is not."""
    if fault := find_fault(compute_there):
        _warn(f"the kernel `{fault}`")
    return not fault


def _warn(what: str) -> None:
    warn(
        f"Apple's GPU (mps) computes otherwise than the processor: {what}; the processor is used. Another "
        "version of PyTorch or macOS may be right"
    )


def _is_movable(network: nn.Module) -> bool:
    """Return whether a network is on the processor, in float32, and not recurrent."""
    kinds = {(weight.device.type, weight.dtype) for weight in network.parameters()}
    return kinds == {("cpu", torch.float32)} and not hasattr(network.base_model, "start")


@torch.no_grad()
def _find_fault_of(network: nn.Module, ids: torch.Tensor) -> str:
    """Move a network; return how it fails, "" if it has the output that it had on the processor."""
    expected = network(input_ids=ids, use_cache=False).logits
    try:
        network.to(DEVICE)
        found = network(input_ids=ids.to(DEVICE), use_cache=False).logits.cpu()
    except _FAILURES as error:
        return f"{type(network).__name__}: {first_line(error)}"
    right = distance(found, expected) <= ROUNDING_OTHERS
    return "" if right else f"the output of {type(network).__name__}"


@contextmanager
def layers_moved(network: nn.Module) -> Iterator[None]:
    """Move a network in float32 to Apple's GPU for a while, unless that computes otherwise.

    Recurrent networks stay on the processor, and networks on another device where they are.
    """
    if not is_available() or not _is_movable(network) or not _is_trusted():
        yield
        return
    ids = draw_texts(network)
    try:
        if fault := _find_fault_of(network, ids):
            network.to("cpu")
            _warn(fault)
        yield
    finally:
        network.to("cpu")
