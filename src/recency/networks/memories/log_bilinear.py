"""The log-bilinear LM: p = Σ_{j=1…n-1} C_j q_{t-j}, P(w) ∝ exp(p · r_w + b_w) (Mnih & Hinton 2007).

There is no tanh, and each position of the window has a matrix C_j. The last output unit is always
1, so that the last column of the words' output vectors is b and the others are r.
"""

import torch
from torch import nn

from recency.networks.memories import Memory

PARAMETERS = {
    "window": {
        "description": "n - 1: number of preceding words",
        "type": "integer",
        "minimum": 1,
        "default": 1,
    },
}


class Form(Memory):
    """The sum of the last words' vectors, each multiplied by its position's matrix."""

    constant = 1

    def __init__(self, inputs: int, width: int, vocabulary: int, window: int = 1):
        super().__init__(inputs, width, vocabulary)
        self.window = window
        self.shapes = ((window - 1, inputs),)
        self.read = nn.Linear(window * inputs, width - 1, bias=False)  # C_j, latest last

    def forward(self, inputs, state, words):
        """Return p and 1, (batch, time, width), and the words still in the window."""
        (seen,) = state
        every = torch.cat([seen, inputs], 1)
        windows = every.unfold(1, self.window, 1).transpose(2, 3).flatten(2)
        p = self.read(windows)
        kept = every[:, every.shape[1] - self.window + 1 :]
        return torch.cat([p, torch.ones_like(p[..., :1])], -1), (kept,)
