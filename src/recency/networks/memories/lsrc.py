"""LSRC, a short memory before a long one: H^l_t = tanh(u_t + U H^l_{t-1}), and an LSTM of H^l.

Oualil et al. (2016b). The short ("local") memory is as wide as its input.
"""

import torch
from torch import nn

from recency.networks.memories import Memory, weight_precision
from recency.networks.memories.lstm import Form as LSTM

PARAMETERS = {}


class Form(Memory):
    """The state consists of H^l, H^g and the LSTM's cell."""

    def __init__(self, inputs: int, width: int, vocabulary: int):
        super().__init__(inputs, width, vocabulary)
        self.local = nn.Linear(inputs, inputs, bias=False)  # U
        self.long = LSTM(inputs, width, vocabulary)
        self.shapes = ((inputs,), *self.long.shapes)

    def forward(self, inputs, state, words):
        """Return H^g (batch, time, width), and the state."""
        local, *long = state
        settings = (False, 1, 0.0, self.training, False, True)  # no biases, one layer, batch first
        with weight_precision(inputs.device):
            inputs = inputs.to(local.dtype)
            # An RNN with the identity as input matrix.
            enter = torch.eye(self.inputs, dtype=inputs.dtype, device=inputs.device)
            weights = [enter, self.local.weight]
            states, last = torch.rnn_tanh(inputs, local[None].contiguous(), weights, *settings)
        states, long = self.long(states, tuple(long), words)
        return states, (last[0], *long)

    @torch.no_grad()
    def draw(self, generator):
        """Draw U as in Glorot & Bengio (2010), the LSTM as PyTorch does."""
        nn.init.xavier_uniform_(self.local.weight, generator=generator)
        self.long.draw(generator)
