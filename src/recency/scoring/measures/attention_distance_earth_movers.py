"""Earth mover's distance of consecutive rows of attention (Oh & Schuler 2022), of a text of length 1."""

import torch

MEASURE = {"unit": 0, "masked": False, "site": "head", "tokens": "sum", "bounds": [0, 1]}


def attention(weights, words):
    """Return Σ_k |A_ik − A_{i−1,k}| / i, A the sums of a row up to key k; NaN of the first row (0).

    In one dimension that is the least cost of moving one row's weights to the other's, where the
    first and the last of the i + 1 inputs lie 1 apart.
    """
    sums = weights.cumsum(-1)
    sums /= sums[..., -1:].clone()
    values = (sums[..., 1:, :] - sums[..., :-1, :]).abs_().sum(-1)
    keys = torch.arange(1, weights.shape[-1], device=weights.device, dtype=values.dtype)
    return torch.nn.functional.pad(values / keys, (1, 0), value=torch.nan)
