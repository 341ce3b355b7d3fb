"""Manhattan distance of consecutive attention rows (Oh & Schuler 2022): Σ_j |a_ij − a_{i−1,j}|."""

import torch

MEASURE = {"unit": 0, "masked": False, "site": "head", "tokens": "sum", "bounds": [0, 2]}


def attention(weights, words):
    """Return the distance of each row from the previous one; NaN for the first."""
    values = (weights[..., 1:, :] - weights[..., :-1, :]).abs_().sum(-1)
    return torch.nn.functional.pad(values, (1, 0), value=torch.nan)
