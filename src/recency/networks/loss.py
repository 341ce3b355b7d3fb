"""Cross-entropy of a batch whose logits are never all in memory.

Gradients are computed in the forward pass, for one chunk of tokens after the other. With the logits
l of a token, the target's logit o and Z = Σ exp(l - o):

    loss = log Z,    d loss / d l = exp(l - o) / Z,  and for the target -(Z - 1) / Z

On a CPU, logits are computed for blocks of the vocabulary and exponentiated once. o is subtracted
within the matrix product, before rounding, and the division by Z follows the products, so that no
other pass over the logits is needed. The target's own exponential, 1, is exact. In bf16 the error
of the gradients is at most about half of that of cross_entropy on full logits under autocast.
"""

import functools
import math

import torch

from recency.networks import products

#: Largest number of tokens in a matrix product, by bytes per element on a CPU.
TOKENS_AT_ONCE = {2: 2048, 4: 512, 8: 512, "cuda": 8192}
#: Vocabulary entries in a matrix product on a CPU.
ENTRIES_AT_ONCE = 1024
#: Exponentials that a CPU stores for the last product, for at least 64 tokens: 64 MB; bfloat16 256.
KEPT_AT_ONCE = {2: 2**27, 4: 2**24, 8: 2**23}
#: exp(x) = 2^(x log₂ e), which PyTorch computes up to three times as fast.
LOG2_E = 1 / math.log(2)
#: If Σ exp(l - o) exceeds this (a target 69 nats below another entry), the largest logit is
#: subtracted instead of the target's.
LARGEST = 1e30


class LinearCrossEntropy(torch.autograd.Function):
    """-Σ log softmax(hidden · weightᵀ + bias)[target], in nats."""

    @staticmethod
    def forward(ctx, hidden, weight, targets, bias=None):
        """Take hidden (tokens, width), weight (vocabulary, width), targets (tokens,), bias or None.

        Products are in the type of `hidden`, softmax and sums at least in float32.
        """
        learns = any(ctx.needs_input_grad)
        with torch.autocast(hidden.device.type, enabled=False):
            if hidden.is_cuda:
                losses, *gradients = _by_chunks(hidden, weight, targets, learns, bias)
            else:
                losses, *gradients = _by_blocks(hidden, weight, targets, learns, bias)
        ctx.save_for_backward(*gradients)
        ctx.weight_dtype = weight.dtype
        return losses.sum()

    @staticmethod
    def backward(ctx, gradient):
        """Scale the gradients of the forward pass."""
        hidden_gradient, weight_gradient, bias_gradient = ctx.saved_tensors
        return (
            hidden_gradient.mul_(gradient.to(hidden_gradient.dtype)),
            weight_gradient.mul_(gradient).to(ctx.weight_dtype),
            None,
            None if bias_gradient is None else bias_gradient.mul_(gradient).to(ctx.weight_dtype),
        )


class Block:
    """Some rows of the output layer, and their three products of a training step."""

    def __init__(self, start: int, weight: torch.Tensor, gradient: torch.Tensor | None):
        """Take the index of the first row, the rows, and a buffer for their gradient, or None."""
        self.start, self.weight, self.gradient, self.begun = start, weight, gradient, False

    def scores(self, states: torch.Tensor, shift: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Return l log₂ e - shift for states (tokens, width), in `out` or elsewhere."""
        return torch.addmm(-shift[:, None], states, self.weight.T, alpha=LOG2_E, out=out)

    def exponentials(self, states, targets, shift, out) -> torch.Tensor:
        """Write 2^(l log₂ e - shift) to `out`, 0 for targets; return the sums over the rows."""
        scores = self.scores(states, shift, out)
        column = targets - self.start
        row = torch.nonzero((column >= 0) & (column < len(self.weight)))[:, 0]
        scores[row, column[row]] = -math.inf
        return torch.exp2(scores, out=out).sum(-1)

    def to_hidden(self, exponentials: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
        """Return total (tokens, width) + exponentials · weight."""
        return _add_product(total, exponentials, self.weight)

    def to_weight(self, exponentials: torch.Tensor, states: torch.Tensor) -> None:
        """Add exponentialsᵀ · states to the gradient, or start it with this product."""
        if self.begun:
            _add_product(self.gradient, exponentials.T, states)
        elif self.gradient.dtype == states.dtype:
            torch.mm(exponentials.T, states, out=self.gradient)
        else:
            self.gradient.copy_(exponentials.T @ states)
        self.begun = True


def _add_product(total: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Add a matrix product to `total`, which may have a wider type."""
    return total.addmm_(left, right) if total.dtype == left.dtype else total.add_(left @ right)


class OneDNNBlock(Block):
    """A float32 block by oneDNN: faster than MKL, on AMD EPYC by 10 % (2022) to 100 % (2024)."""

    sum: torch.Tensor | None = None  # the gradient's transpose, which is faster to accumulate

    def scores(self, states, shift, out):
        """Return l log₂ e - shift of states (tokens, width)."""
        return products.times(states * LOG2_E, self.weight).sub_(shift[:, None])

    def to_hidden(self, exponentials, total):
        """Return total (tokens, width) + exponentials · weight."""
        return products.added(total, exponentials, self.weight.T)

    def to_weight(self, exponentials, states):
        """Add exponentialsᵀ · states to the sum."""
        if self.sum is None:
            self.sum = products.times(states.T, exponentials.T)
        else:
            self.sum = products.added(self.sum, states.T, exponentials.T)


def _by_blocks(hidden, weight, targets, learns: bool, bias=None) -> list[torch.Tensor | None]:
    """Return the losses and the gradients of hidden, weight and bias on a CPU."""
    if bias is not None:
        states, columns = _with_bias(hidden, weight.detach(), bias.detach())
        losses, *gradients, _ = _by_blocks(states, columns, targets, learns)
        if not learns:
            return [losses, None, None, None]
        of_states, of_columns = gradients
        return [losses, of_states[:, :-2], of_columns[:, :-2], of_columns[:, -2]]
    exact = torch.promote_types(hidden.dtype, torch.float32)
    at_once = min(len(hidden), TOKENS_AT_ONCE[hidden.itemsize])
    if learns:
        kept = KEPT_AT_ONCE[hidden.itemsize]
        at_once = min(at_once, max(kept // len(weight) // 64 * 64, 64))
    losses, weight_gradient = hidden.new_empty(len(hidden), dtype=exact), None
    if learns:
        hidden_gradient = torch.empty_like(hidden)
        by_target = torch.empty_like(hidden, dtype=exact)
    cast = weight.detach().to(hidden.dtype)
    parts = _slices(len(cast), ENTRIES_AT_ONCE)
    if by_onednn := products.faster(cast):
        blocks = [OneDNNBlock(rows.start, cast[rows], None) for rows in parts]
    else:
        weight_gradient = torch.empty_like(weight, dtype=exact) if learns else None
        gradients = [weight_gradient[rows] if learns else None for rows in parts]
        blocks = [Block(r.start, cast[r], g) for r, g in zip(parts, gradients, strict=True)]
    room = cast.new_empty(at_once, len(cast) if learns else min(len(cast), ENTRIES_AT_ONCE))
    for here in _slices(len(hidden), at_once):
        states, rows = hidden[here], cast[targets[here]].to(exact)
        target_logits = (states.to(exact) * rows).sum(-1)
        shift = (target_logits * LOG2_E).to(cast.dtype)
        places = _buffers(blocks, room, len(states), learns)
        total, to_hidden = _exponentials(blocks, places, states, targets[here], shift, learns)
        if not total.max() < LARGEST:
            nothing = torch.zeros_like(shift)
            largest = [b.scores(states, nothing, out).amax(-1) for b, out in zip(blocks, places)]
            shift = torch.stack(largest).amax(0)
            total, to_hidden = _exponentials(blocks, places, states, targets[here], shift, learns)
        shift = shift.to(exact) / LOG2_E
        first = torch.exp(
            target_logits - shift
        )  # the target's own: 1 up to rounding if it is the shift
        losses[here] = torch.log1p(total + (first - 1)) + (shift - target_logits)
        if not learns:
            continue
        total, z = total[:, None], (total + first)[:, None]
        hidden_gradient[here] = to_hidden.addcmul_(rows, total, value=-1).div_(z)
        by_target[here] = states.to(exact) * (total / z)
        divided = (states / z).to(hidden.dtype).T.contiguous().T  # in the product's memory order
        for block, exponentials in zip(blocks, places, strict=True):
            block.to_weight(exponentials, divided)
    if not learns:
        return [losses, None, None, None]
    del room, places
    if by_onednn:
        weight_gradient = torch.cat([block.sum.T for block in blocks])
    weight_gradient.index_add_(0, targets, by_target, alpha=-1)
    return [losses, hidden_gradient, weight_gradient, None]


def _with_bias(hidden, weight, bias) -> tuple[torch.Tensor, torch.Tensor]:
    """Append 1 to the states, and the bias as columns to the weight.

    There are two columns: the bias in the states' type, and its rounding error.
    """
    high = bias.to(hidden.dtype)
    low = (bias - high).to(hidden.dtype)
    columns = torch.cat([weight.to(hidden.dtype), high[:, None], low[:, None]], 1)
    return torch.cat([hidden, hidden.new_ones(len(hidden), 2)], 1), columns


def _slices(length: int, size: int) -> list[slice]:
    """Cut a length into slices of a size, and a shorter last one."""
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _buffers(blocks, room: torch.Tensor, tokens: int, learns: bool) -> list[torch.Tensor]:
    """Return each block's part of `room` for its exponentials; parts overlap unless kept."""
    room = room.view(-1)
    starts = [tokens * block.start if learns else 0 for block in blocks]
    sizes = [(tokens, len(block.weight)) for block in blocks]
    return [
        room[start : start + math.prod(size)].view(size)
        for start, size in zip(starts, sizes, strict=True)
    ]


def _exponentials(blocks, places, states, targets, shift, learns: bool):
    """Fill `places` with exponentials; return their sums, and sums of products with the weight.

    The targets' exponentials are left out.
    """
    exact = torch.promote_types(states.dtype, torch.float32)
    total, to_hidden = (torch.zeros_like(tensor, dtype=exact) for tensor in (shift, states))
    for block, out in zip(blocks, places, strict=True):
        total += block.exponentials(states, targets, shift, out)
        if learns:
            to_hidden = block.to_hidden(out, to_hidden)
    return total, to_hidden


def _by_chunks(hidden, weight, targets, learns: bool, bias=None) -> list[torch.Tensor | None]:
    """Return the losses and the gradients on a GPU, with the whole vocabulary in one product."""
    exact = torch.promote_types(hidden.dtype, torch.float32)
    at_once = min(len(hidden), TOKENS_AT_ONCE["cuda"])
    losses = hidden.new_empty(len(hidden), dtype=exact)
    hidden_gradient = torch.empty_like(hidden) if learns else None
    weight_gradient = torch.zeros_like(weight, dtype=exact) if learns else None
    bias_gradient = torch.zeros_like(bias, dtype=exact) if learns and bias is not None else None
    logits, cast = hidden.new_empty(at_once, len(weight)), weight.detach().to(hidden.dtype)
    for here in _slices(len(hidden), at_once):
        states = hidden[here]
        scores = torch.mm(states, cast.T, out=logits[: len(states)])
        if bias is not None:
            scores.add_(bias.detach())
        losses[here] = _compile_loss(hidden.is_cuda)(scores, targets[here])
        if learns:
            torch.mm(scores, cast, out=hidden_gradient[here])
            weight_gradient += scores.T @ states
            if bias is not None:
                bias_gradient += scores.sum(0, dtype=exact)
    return [losses, hidden_gradient, weight_gradient, bias_gradient]


def softmax_minus_target(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Turn logits into d loss / d logits in place; return the losses.

    The compiled function reads the logits twice, writes them once, and needs no further memory.
    """
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    total = torch.logsumexp(exact, 1, keepdim=True)
    here = torch.arange(logits.shape[1], device=logits.device) == targets[:, None]
    losses = total[:, 0] - exact.gather(1, targets[:, None])[:, 0]
    logits.copy_(torch.exp(exact - total) - here.to(exact.dtype))
    return losses


@functools.cache
def _compile_loss(on_gpu: bool):
    return torch.compile(softmax_minus_target, dynamic=False) if on_gpu else softmax_minus_target


def cross_entropy_sum(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    targets: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the summed cross-entropy in nats: hidden (…, width), weight (vocabulary, width).

    `bias` (vocabulary) is added to the logits.
    """
    return LinearCrossEntropy.apply(hidden.flatten(0, -2), weight, targets.flatten(), bias)
