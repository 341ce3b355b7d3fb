"""Long short-term memory: C_t = f_t ⊙ C_{t-1} + i_t ⊙ C̃_t, H_t = o_t ⊙ tanh(C_t).

Hochreiter & Schmidhuber (1997), with the forget gate of Gers et al. (2000). Oualil et al. (2016b)
print it without biases.
"""

from torch import nn

from recency.networks.memories import Cell

PARAMETERS = {
    "biases": {"description": "whether there are biases", "type": "boolean", "default": True},
    "weights": {
        "description": "first weights: `uniform` in ±1/√width, as in PyTorch, or `glorot`",
        "enum": ["uniform", "glorot"],
        "default": "uniform",
    },
}
GATES = ("forget", "input", "output")


class Form(Cell):
    """PyTorch's nn.LSTM."""

    kind = nn.LSTM
