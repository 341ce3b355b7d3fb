"""Normalised attention entropy (Oh & Schuler 2022): that of the weights before, of sum 1, ÷ its largest."""

import torch

MEASURE = {"unit": 0, "masked": False, "site": "head", "tokens": "sum", "bounds": [0, 1]}


def attention(weights, words):
    """Return H(ā_i) / log n, ā_i the n weights before, over their sum; 0 of one, NaN of none."""
    before = weights.tril(-1)
    mass = before.sum(-1)
    entropy = torch.special.entr(before).sum(-1) / mass + mass.log()  # H of the weights over mass
    largest = torch.arange(weights.shape[-1], device=weights.device, dtype=mass.dtype).log()
    values = (entropy / largest).clamp(0, 1)  # beyond by rounding alone
    values[..., :2] = 0.0
    values[..., 0] = torch.nan
    return values
