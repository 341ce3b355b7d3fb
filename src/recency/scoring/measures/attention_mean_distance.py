"""Mean attended distance, tokens: Σ_j a_ij (i − j) / Σ_j a_ij, the input itself at distance 0."""

import torch

MEASURE = {"unit": 0, "masked": False, "site": "head", "tokens": "mean", "bounds": [0, None]}


def attention(weights, words):
    """Return the mean distance of each row."""
    places = torch.arange(weights.shape[-1], device=weights.device, dtype=weights.dtype)
    distance = places[:, None] - places
    return (weights * distance).sum(-1) / weights.sum(-1)
