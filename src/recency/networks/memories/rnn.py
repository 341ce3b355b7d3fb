"""Simple recurrent network (Elman 1990): H_t = tanh(W u_t + V H_{t-1} + b)."""

from torch import nn

from recency.networks.memories import Cell

PARAMETERS = {}


class Form(Cell):
    """PyTorch's nn.RNN."""

    kind = nn.RNN
