"""The log-bilinear LM: p = Σ_{j=1…n-1} C_j q_{t-j}, P(w) ∝ exp(p · r_w + b_w) (Mnih & Hinton 2007).

No tanh, and a matrix C_j for each place of the window. The last unit that it gives is always 1, so that
the last column of the words' output vectors is b and the others are r.
"""

import torch
from torch import nn

from recency.networks.memories import Memory

PARAMETERS = {
    "window": {
        "description": "n - 1: words that are read",
        "type": "integer",
        "minimum": 1,
        "default": 1,
    },
}


class Form(Memory):
    """What the vectors of the last words, each turned by its place's matrix, add up to."""

    constant = 1

    def __init__(self, inputs: int, width: int, vocabulary: int, window: int = 1):
        super().__init__(inputs, width, vocabulary)
        self.window = window
        self.shapes = ((window - 1, inputs),)
        self.read = nn.Linear(window * inputs, width - 1, bias=False)  # C_j, latest last

    def forward(self, inputs, state, words):
        """Return p and 1, (batch, time, width), and the words that a window still sees."""
        (seen,) = state
        every = torch.cat([seen, inputs], 1)
        windows = every.unfold(1, self.window, 1).transpose(2, 3).flatten(2)
        p = self.read(windows)
        kept = every[:, every.shape[1] - self.window + 1 :]
        return torch.cat([p, torch.ones_like(p[..., :1])], -1), (kept,)
