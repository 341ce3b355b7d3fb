"""LSRC, a short memory before a long one: H^l_t = tanh(u_t + U H^l_{t-1}), and an LSTM of H^l.

Oualil et al. (2016b), who print it without biases. The short ("local") memory is as wide as its
input. The toolkit of the paper's first author (TF-NNLM-TK) has a vector U, multiplied elementwise.
"""

import torch
from torch import nn

from recency.networks.memories import Memory, tanh_states
from recency.networks.memories.lstm import Form as LSTM
from recency.networks.recurrences import tanh_recurrence

PARAMETERS = {
    "biases": {"description": "whether there are biases", "type": "boolean", "default": True},
    "weights": {
        "description": "first weights: `uniform` in ±1/√width, as in PyTorch, or `glorot`",
        "enum": ["uniform", "glorot"],
        "default": "uniform",
    },
    "recurrence": {
        "description": "U: a `matrix`, or a `vector` that is multiplied elementwise",
        "enum": ["matrix", "vector"],
        "default": "matrix",
    },
}


class Form(Memory):
    """The state consists of H^l, H^g and the LSTM's cell."""

    undecayed = ("local",)

    def __init__(
        self,
        inputs: int,
        width: int,
        vocabulary: int,
        biases: bool = True,
        weights: str = "uniform",
        recurrence: str = "matrix",
    ):
        super().__init__(inputs, width, vocabulary)
        if recurrence == "vector":
            self.local = nn.Parameter(torch.empty(1, inputs))
        else:
            self.local = nn.Linear(inputs, inputs, bias=False)
        self.long = LSTM(inputs, width, vocabulary, biases, weights)
        self.shapes = ((inputs,), *self.long.shapes)

    def local_states(
        self, inputs: torch.Tensor, state: tuple[torch.Tensor, ...]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return H^l (batch, time, inputs), and its last."""
        if isinstance(self.local, nn.Linear):
            return tanh_states(inputs, state[0], self.local.weight, self.training)
        states = tanh_recurrence(self.local[None], inputs.to(state[0].dtype), state[0])
        return states, states[:, -1]

    def forward(self, inputs, state, words):
        """Return H^g (batch, time, width), and the state."""
        states, last = self.local_states(inputs, state)
        states, long = self.long(states, tuple(state[1:]), words)
        return states, (last, *long)

    @torch.no_grad()
    def draw(self, generator):
        """Draw U as in Glorot & Bengio (2010), or a vector from U(0, 1), and the LSTM."""
        if isinstance(self.local, nn.Linear):
            nn.init.xavier_uniform_(self.local.weight, generator=generator)
        else:
            nn.init.uniform_(self.local, 0, 1, generator=generator)
        self.long.draw(generator)
