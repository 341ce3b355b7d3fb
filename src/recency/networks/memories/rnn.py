"""Simple recurrent network (Elman 1990): H_t = tanh(W u_t + V H_{t-1} + b).

Oualil et al. (2016b, their equation 4) print it without W and b: the word's vector u_t is as wide
as the state, and is added to V H_{t-1}.
"""

from torch import nn

from recency.errors import InputError
from recency.networks.memories import Cell, tanh_states

PARAMETERS = {
    "input_matrix": {
        "description": "whether there is W; without it words have vectors of the state's width",
        "type": "boolean",
        "default": True,
    },
    "biases": {"description": "whether there are biases", "type": "boolean", "default": True},
    "weights": {
        "description": "first weights: `uniform` in ±1/√width, as in PyTorch, or `glorot`",
        "enum": ["uniform", "glorot"],
        "default": "uniform",
    },
}


class Form(Cell):
    """PyTorch's nn.RNN, or without W its recurrence."""

    kind = nn.RNN

    def __init__(
        self,
        inputs: int,
        width: int,
        vocabulary: int,
        input_matrix: bool = True,
        biases: bool = True,
        weights: str = "uniform",
    ):
        super().__init__(inputs, width, vocabulary, biases, weights)
        if input_matrix:
            return
        if inputs != width:
            raise InputError(
                f"memory 'rnn' with `input_matrix: false` adds a word's {inputs} numbers to a state of "
                f"{width}; leave `embedding` out of the architecture"
            )
        self.cell = nn.Linear(width, width, bias=biases)  # V

    def forward(self, inputs, state, words):
        """Return H (batch, time, width), and the state."""
        if isinstance(self.cell, nn.RNN):
            return super().forward(inputs, state, words)
        if self.cell.bias is not None:
            inputs = inputs + self.cell.bias
        states, last = tanh_states(inputs, state[0], self.cell.weight, self.training)
        return states, (last,)
