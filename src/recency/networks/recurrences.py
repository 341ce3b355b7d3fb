"""Recurrences over time with custom gradients, which need no graph node per step.

Tensors are (batch, time, …). Each function equals a plain loop; `start`, of the shape of one step,
precedes the first step.
"""

import math

import torch
from torch.autograd.function import once_differentiable


def scan(decay: torch.Tensor, inputs: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """Return P_t = a_t ⊙ P_{t-1} + u_t for all t, in parallel.

    `inputs` u is (batch, time, …), `start` P_0 is (batch, …); `decay` a broadcasts over u, and has
    one step in time if it is constant.
    """
    return _Scan.apply(decay, inputs, start)


def tanh_recurrence(
    weight: torch.Tensor, inputs: torch.Tensor, start: torch.Tensor
) -> torch.Tensor:
    """Return P_t = tanh(u_t + c_t ⊙ P_{t-1}) for all t; `weight` c broadcasts over `inputs` u."""
    return _Tanh.apply(weight, inputs, start)


class _Scan(torch.autograd.Function):
    """A linear recurrence, whose gradient is a linear recurrence backwards in time."""

    @staticmethod
    def forward(ctx, decay, inputs, start):
        states = _blocked_scan(decay, inputs, start, fresh=False)
        ctx.save_for_backward(decay, states, start)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        decay, states, start = ctx.saved_tensors
        # g_t = G_t + a_{t+1} g_{t+1}: when flipped, each step has the decay of the following step.
        following = decay if decay.shape[1] == 1 else decay.roll(-1, 1).flip(1)
        none = torch.zeros_like(start)
        of_inputs = _blocked_scan(following, gradient.flip(1), none, fresh=True).flip(1)
        of_decay = None
        if ctx.needs_input_grad[0]:
            of_decay = torch.empty_like(of_inputs)
            torch.mul(of_inputs[:, 0], start, out=of_decay[:, 0])
            torch.mul(of_inputs[:, 1:], states[:, :-1], out=of_decay[:, 1:])
            of_decay = of_decay.sum_to_size(decay.shape)
        return of_decay, of_inputs, decay[:, 0] * of_inputs[:, 0]


def _blocked_scan(
    decay: torch.Tensor, inputs: torch.Tensor, start: torch.Tensor, fresh: bool
) -> torch.Tensor:
    """Scan √time steps in √time parallel blocks, then carry each block's last state to the next.

    `inputs` may be overwritten if they are `fresh`.
    """
    time = inputs.shape[1]
    size = max(1, round(math.sqrt(time)))
    blocks = -(-time // size)
    spare = blocks * size - time
    states = _pad_steps(inputs, spare) if fresh or spare else inputs.clone()
    states = states.unflatten(1, (blocks, size))
    if decay.shape[1] == 1:
        steps = decay[:, None].expand(-1, 1, size, *decay.shape[2:])
    else:
        steps = _pad_steps(decay, spare).unflatten(1, (blocks, size))
    faded = steps.clone()  # the decay of the carried state at each step of a block
    for step in range(1, size):
        states[:, :, step].addcmul_(steps[:, :, step], states[:, :, step - 1])
        faded[:, :, step].mul_(faded[:, :, step - 1])
    carried = start
    for block in range(blocks):
        of_block = faded[:, 0 if decay.shape[1] == 1 else block]
        states[:, block].addcmul_(of_block, carried[:, None])
        carried = states[:, block, -1]
    return states.flatten(1, 2)[:, :time]


def _pad_steps(tensor: torch.Tensor, spare: int) -> torch.Tensor:
    """Append `spare` steps of zeros to a tensor."""
    if not spare:
        return tensor
    return torch.cat([tensor, tensor.new_zeros(tensor.shape[0], spare, *tensor.shape[2:])], 1)


class _Tanh(torch.autograd.Function):
    """tanh recurrences have no parallel scan: a loop of two operations per step."""

    @staticmethod
    def forward(ctx, weight, inputs, start):
        states = torch.empty_like(inputs)
        weights = weight.expand(*weight.shape[:1], inputs.shape[1], *weight.shape[2:])
        before = start
        for step in range(inputs.shape[1]):
            here = states[:, step]
            torch.addcmul(inputs[:, step], weights[:, step], before, out=here)
            before = here.tanh_()
        ctx.save_for_backward(weight, states, start)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        weight, states, start = ctx.saved_tensors
        weights = weight.expand(*weight.shape[:1], states.shape[1], *weight.shape[2:])
        slope = 1 - states.square()
        of_inputs = torch.empty_like(states)
        later = torch.zeros_like(start)
        for step in reversed(range(states.shape[1])):
            here = of_inputs[:, step]
            torch.add(gradient[:, step], later, out=here)
            here.mul_(slope[:, step])
            later = here * weights[:, step]
        of_weight = None
        if ctx.needs_input_grad[0]:
            before = torch.cat([start[:, None], states[:, :-1]], 1)
            of_weight = (of_inputs * before).sum_to_size(weight.shape)
        return of_weight, of_inputs, later
