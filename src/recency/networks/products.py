"""Matrix products in float32 by oneDNN, of weights as they lie or laid out for the processor once.

oneDNN, which PyTorch brings along, reaches the peak of processors whose half or quarter PyTorch's own
products (MKL's) reach, and takes weights that are laid out already, which is up to an eighth
faster. The numbers differ from PyTorch's own in the last bits, as those of two kinds of processor do.
On Intel's own processors MKL is up to a tenth faster with weights as they lie.
"""

from collections.abc import Callable

import torch

from recency import processor

#: Rows of the other factor that a layout is meant for; it serves any number.
ROWS = 1024


def can_lay_out(weight: torch.Tensor) -> bool:
    """Say whether a weight can be laid out: float32 on a CPU, and PyTorch has the operators."""
    return (
        weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and torch.backends.mkldnn.is_available()
        and torch.backends.mkldnn.enabled
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
    )


def faster(weight: torch.Tensor) -> bool:
    """Say whether oneDNN is the faster one with a weight as it lies."""
    return can_lay_out(weight) and not processor.by_intel()


def laid_out(weight: torch.Tensor) -> torch.Tensor:
    """Return a copy of `weight` (outputs, inputs) in the processor's order."""
    return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), ROWS)


def product(
    weight: torch.Tensor, bias: torch.Tensor | None = None, gelu: str | None = None
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the function x → xWᵀ + b of `weight` (outputs, inputs), which is copied.

    `gelu` ("none" or "tanh", as in torch.nn.functional.gelu) applies it to the result, too.
    """
    weight = laid_out(weight)
    attribute, algorithm = ("none", "") if gelu is None else ("gelu", gelu)

    def run(inputs: torch.Tensor) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, attribute, [], algorithm)

    return run


def times(
    inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Return inputs · weightᵀ + bias of a weight as it lies."""
    return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")


def added(total: torch.Tensor, inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return total + inputs · weightᵀ in one pass, `weight` as it lies or laid out."""
    return torch.ops.mkldnn._linear_pointwise.binary(inputs, total, weight, None, "add")
