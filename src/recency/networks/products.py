"""Matrix products in float32 by oneDNN, with weights as stored or in the processor's layout.

oneDNN, which comes with PyTorch, reaches peak performance on processors where PyTorch's own
products (MKL's) reach half or a quarter. It also accepts weights in its own layout, which is up to
an eighth faster. The results differ from PyTorch's in the last bits, as they do between kinds of
processor. On Intel processors MKL is up to a tenth faster with weights as stored.
"""

from collections.abc import Callable

import torch

from recency import processor

#: Rows of the other factor that a layout is optimised for; any number works.
ROWS = 1024


def can_lay_out(weight: torch.Tensor) -> bool:
    """Return whether a weight can be laid out: float32 on a CPU, and PyTorch has the operators."""
    return (
        weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and torch.backends.mkldnn.is_available()
        and torch.backends.mkldnn.enabled
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
    )


def faster(weight: torch.Tensor) -> bool:
    """Return whether oneDNN is faster for a weight as stored."""
    return can_lay_out(weight) and not processor.by_intel()


def lay_out(weight: torch.Tensor) -> torch.Tensor:
    """Return a copy of `weight` (outputs, inputs) in the processor's layout."""
    return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), ROWS)


def product(
    weight: torch.Tensor, bias: torch.Tensor | None = None, gelu: str | None = None
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the function x → xWᵀ + b for a copy of `weight` (outputs, inputs).

    With `gelu` ("none" or "tanh", as in torch.nn.functional.gelu) it is applied to the result.
    """
    weight = lay_out(weight)
    attribute, algorithm = ("none", "") if gelu is None else ("gelu", gelu)

    def run(inputs: torch.Tensor) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, attribute, [], algorithm)

    return run


def times(
    inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Return inputs · weightᵀ + bias for a weight as stored."""
    return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")


def added(total: torch.Tensor, inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return total + inputs · weightᵀ in one pass, for `weight` as stored or laid out."""
    return torch.ops.mkldnn._linear_pointwise.binary(inputs, total, weight, None, "add")
