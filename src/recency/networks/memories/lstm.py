"""Long short-term memory: C_t = f_t ⊙ C_{t-1} + i_t ⊙ C̃_t, H_t = o_t ⊙ tanh(C_t).

Hochreiter & Schmidhuber (1997), with the forget gate of Gers et al. (2000).
"""

from torch import nn

from recency.networks.memories import Cell

PARAMETERS = {}
GATES = ("forget", "input", "output")


class Form(Cell):
    """PyTorch's nn.LSTM."""

    kind = nn.LSTM
