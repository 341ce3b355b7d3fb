"""Forgetting Transformer: forget gates that depend on the tokens read (Lin et al. 2025).

a = 1, b = Σ_{l=j+1…i} log f_l, f_l = σ(w_h · x_l + v_h): the gate of each token l multiplies the
weights of all earlier tokens (arXiv 2503.02130, Equations 6 to 9). The gates of each layer and head
are trained. They start with w = 0, the same for every token, which is a linear bias.
"""

import math

import torch
from torch import nn
from torch.nn import functional

from recency.attention.biases.linear import mixed_slopes
from recency.attention.content import ContentBias, Layer
from recency.errors import InputError

PARAMETERS = {
    "start": {
        "description": "v_h at the start, log-odds of the gates: a number for all heads (0: each token "
        "halves earlier weights, as in the paper); one a head; or `mix`: ALiBi's slopes",
        "anyOf": [
            {"const": "mix"},
            {"type": "number"},
            {"type": "array", "items": {"type": "number"}, "minItems": 1},
        ],
        "default": 0,
    }
}


class Form(ContentBias):
    """Each token reduces the weight of all earlier ones by its forget gate."""

    def __init__(self, heads: int, width: int, start: str | float | list[float] = 0):
        super().__init__(heads, width)
        if start == "mix":  # a gate of e^(-m) is a slope of m
            start = [-m - math.log(-math.expm1(-m)) for m in mixed_slopes(heads)]
        start = [start] * heads if isinstance(start, int | float) else start
        if len(start) != heads:
            raise InputError(f"forgetting: {len(start)} values of `start` for {heads} heads")
        self.weight = nn.Parameter(torch.zeros(heads, width))
        self.offset = nn.Parameter(torch.tensor(start, dtype=torch.float32))

    def log_gates(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return log f (batch, heads, length) of inputs (batch, length, width)."""
        exact = torch.promote_types(inputs.dtype, torch.float32)
        with torch.autocast(inputs.device.type, enabled=False):
            logits = functional.linear(
                inputs.to(exact), self.weight.to(exact), self.offset.to(exact)
            )
        return functional.logsigmoid(logits).transpose(1, 2)

    def factors(self, layer: Layer):
        """Return u = (C, 1) and w = (1, -C) with C_i = Σ_{l≤i} log f_l: b = C_i - C_j."""
        total = self.log_gates(layer.inputs).cumsum(-1)
        one = torch.ones_like(total)
        return torch.stack([total, one], -1), torch.stack([one, -total], -1)
