"""Normalised attention entropy (Oh & Schuler 2022): entropy over previous inputs ÷ its maximum."""

import torch

MEASURE = {"unit": 0, "masked": False, "site": "head", "tokens": "sum", "bounds": [0, 1]}


def attention(weights, words):
    """Return H(ā_i) / log n, ā_i the n previous weights, scaled to sum 1; 0 for n = 1, NaN for 0."""
    before = weights.tril(-1)
    mass = before.sum(-1)
    entropy = torch.special.entr(before).sum(-1) / mass + mass.log()  # H of the weights over mass
    largest = torch.arange(weights.shape[-1], device=weights.device, dtype=mass.dtype).log()
    values = (entropy / largest).clamp(0, 1)  # rounding may exceed the bounds
    values[..., :2] = 0.0
    values[..., 0] = torch.nan
    return values
