"""Gated recurrent unit (Cho et al. 2014): H_t = (1 - z_t) ⊙ H̃_t + z_t ⊙ H_{t-1}."""

from torch import nn

from recency.networks.memories import Cell

PARAMETERS = {}
GATES = ("update", "reset")  # z and r; an update of 1 keeps the state


class Form(Cell):
    """PyTorch's nn.GRU, whose reset gate is applied after the product with H_{t-1}."""

    kind = nn.GRU
