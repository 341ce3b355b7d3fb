"""Attention entropy (Ryu & Lewis 2021): H = −Σ_{j<i} a_ij log a_ij, over the previous inputs."""

import torch

MEASURE = {"unit": 1, "masked": False, "site": "head", "tokens": "sum", "bounds": [0, None]}


def attention(weights, words):
    """Return the entropy of each row without its own input, nats; NaN for the first."""
    values = torch.special.entr(weights.tril(-1)).sum(-1)
    values[..., 0] = torch.nan
    return values
