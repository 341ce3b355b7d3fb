"""A simple recurrent network with one attention head over its past states (Timkey & Linzen 2023).

The query q_t = tanh(LN(Q [u_t; h_{t-1}])) is a retrieval cue. The retrieved vector a_t = Σ_i w_i
v_i, w = softmax(k_i · q_t / √d), is combined with the word: z_t = tanh(LN(Z [u_t; q_t; a_t;
h_{t-1}])), and [k_t; v_t; h_t] = tanh(LN(O z_t)) are the word's key, its value and the state that
predicts the next word. Similar keys share the weight of a cue: similarity-based interference. As in
the published code, a zero state can always be retrieved, and otherwise only the last `window`
states.
"""

import math

import torch
from torch import nn

from recency.networks.memories import Memory, weight_precision

PARAMETERS = {
    "window": {
        "description": "past states that can be retrieved",
        "type": "integer",
        "minimum": 1,
        "default": 64,
    },
}
#: Width of z, in widths of the state.
WIDER = 4


class Form(Memory):
    """States, keys and values of one width; the last ones are carried."""

    def __init__(self, inputs: int, width: int, vocabulary: int, window: int = 64):
        super().__init__(inputs, width, vocabulary)
        self.window = window
        #: State, keys, values, and 1 for each slot that is filled.
        self.shapes = ((width,), (window, width), (window, width), (window,))
        self.cue = nn.Linear(inputs + width, width)
        self.combine = nn.Linear(inputs + 3 * width, WIDER * width)
        self.leave = nn.Linear(WIDER * width, 3 * width)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in (width, WIDER * width, 3 * width))

    def forward(self, inputs, state, words):
        """Return h (batch, time, width), and the last states with their keys and values."""
        with weight_precision(inputs.device):
            return self._read(inputs.to(state[0].dtype), *state)

    def _read(self, inputs, hidden, keys, values, there):
        """Read one word after the other; arguments and results are those of `forward`."""
        outputs, one = [], torch.ones_like(there[:, :1])
        for word in inputs.unbind(1):
            query = self.norms[0](self.cue(torch.cat([word, hidden], -1))).tanh()
            retrieved = self._retrieve(query, keys, values, there)
            combined = torch.cat([word, query, retrieved, hidden], -1)
            combined = self.norms[1](self.combine(combined)).tanh()
            key, value, hidden = self.norms[2](self.leave(combined)).tanh().chunk(3, -1)
            keys = torch.cat([keys[:, 1:], key[:, None]], 1)
            values = torch.cat([values[:, 1:], value[:, None]], 1)
            there = torch.cat([there[:, 1:], one], 1)
            outputs.append(hidden)
        return torch.stack(outputs, 1), (hidden, keys, values, there)

    def _retrieve(self, query, keys, values, there):
        """Return Σ w v over the filled slots and a zero state."""
        scores = torch.einsum("bwd,bd->bw", keys, query) / math.sqrt(self.width)
        scores = scores.masked_fill(there == 0, -torch.inf)
        weights = torch.cat([torch.zeros_like(scores[:, :1]), scores], 1).softmax(-1)[:, 1:]
        return torch.einsum("bw,bwd->bd", weights, values)

    @torch.no_grad()
    def draw(self, generator):
        """Draw matrices as in Glorot & Bengio (2010); norms start as identities."""
        super().draw(generator)
        for norm in self.norms:
            nn.init.ones_(norm.weight)
