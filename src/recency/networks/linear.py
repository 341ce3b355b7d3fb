"""Linear layers by oneDNN, for networks trained in float32 on a CPU.

PyTorch's own products (MKL's) are slower on an AMD EPYC; see recency.networks.products.
"""

import functools

import torch
from torch import nn

from recency.networks import products


class Linear(torch.autograd.Function):
    """x · Wᵀ + b."""

    @staticmethod
    def forward(ctx, inputs, weight, bias):
        """Take inputs (…, inputs), weight (outputs, inputs), and bias (outputs,) or None."""
        ctx.save_for_backward(inputs, weight)
        return products.times(inputs, weight, bias)

    @staticmethod
    def backward(ctx, gradient):
        """Return the gradients of the inputs that need one."""
        inputs, weight = ctx.saved_tensors
        to_inputs = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            to_inputs = products.times(gradient, weight.T)
        gradient, inputs = gradient.flatten(0, -2).T, inputs.flatten(0, -2).T
        if ctx.needs_input_grad[1]:  # few rows and many columns are faster than the transpose
            few = len(gradient) <= len(inputs)
            to_weight = (
                products.times(gradient, inputs) if few else products.times(inputs, gradient).T
            )
        if ctx.needs_input_grad[2]:
            to_bias = gradient.sum(1)
        return to_inputs, to_weight, to_bias


def by_onednn(model: nn.Module) -> None:
    """Use oneDNN for the float32 linear layers of a model, where it is faster."""
    for module in model.modules():
        if type(module) is nn.Linear and products.faster(module.weight):
            module.forward = functools.partial(_forward, module)


def _forward(module: nn.Linear, inputs: torch.Tensor) -> torch.Tensor:
    if inputs.dtype != torch.float32 or torch.is_autocast_enabled(inputs.device.type):
        return nn.functional.linear(inputs, module.weight, module.bias)
    return Linear.apply(inputs, module.weight, module.bias)
