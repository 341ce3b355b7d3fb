"""A short memory in front of a long one, LSRC: H^l_t = tanh(u_t + U H^l_{t-1}), and an LSTM fed with H^l.

Oualil et al. (2016b). The short memory, called local, is as wide as what it reads.
"""

import torch
from torch import nn

from recency.networks.memories import Memory, exactly
from recency.networks.memories.lstm import Form as LSTM

PARAMETERS = {}


class Form(Memory):
    """The state: H^l, H^g and the LSTM's cell."""

    def __init__(self, inputs: int, width: int, vocabulary: int):
        super().__init__(inputs, width, vocabulary)
        self.local = nn.Linear(inputs, inputs, bias=False)  # U
        self.long = LSTM(inputs, width, vocabulary)
        self.shapes = ((inputs,), *self.long.shapes)

    def forward(self, inputs, state, words):
        """Return H^g (batch, time, width), and the state."""
        local, *long = state
        settings = (False, 1, 0.0, self.training, False, True)  # no biases, one layer, batch first
        with exactly(inputs.device):
            inputs = inputs.to(local.dtype)
            # An RNN whose words enter as they are: its matrix of inputs is the identity.
            enter = torch.eye(self.inputs, dtype=inputs.dtype, device=inputs.device)
            weights = [enter, self.local.weight]
            states, last = torch.rnn_tanh(inputs, local[None].contiguous(), weights, *settings)
        states, long = self.long(states, tuple(long), words)
        return states, (last[0], *long)

    @torch.no_grad()
    def draw(self, generator):
        """Draw U as Glorot & Bengio do, the LSTM as PyTorch does."""
        nn.init.xavier_uniform_(self.local.weight, generator=generator)
        self.long.draw(generator)
