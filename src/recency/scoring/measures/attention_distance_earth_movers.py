"""Earth mover's distance of consecutive attention rows, of a text of length 1 (Oh & Schuler 2022)."""

import torch

MEASURE = {"unit": 0, "masked": False, "site": "head", "tokens": "sum", "bounds": [0, 1]}


def attention(weights, words):
    """Return Σ_k |A_ik − A_{i−1,k}| / i, where A are cumulative sums; NaN for the first row.

    In one dimension, this is the least cost of moving one row's weights to the other's; the first
    and the last of the i + 1 inputs are 1 apart.
    """
    sums = weights.cumsum(-1)
    sums /= sums[..., -1:].clone()
    values = (sums[..., 1:, :] - sums[..., :-1, :]).abs_().sum(-1)
    keys = torch.arange(1, weights.shape[-1], device=weights.device, dtype=values.dtype)
    return torch.nn.functional.pad(values / keys, (1, 0), value=torch.nan)
