"""Shares of variance explained by the terms of a linear model, added one after the other."""

from collections.abc import Mapping

import numpy as np


def sequential(response: np.ndarray, terms: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return each term's share (0 to 1) of the variance of `response` (n,), and the `residual`'s.

    The sums of squares are those of a type I analysis of variance: each term, a column (n,), adds
    to the mean and the terms before it. A term that depends linearly on them adds nothing.
    """
    left = response - response.mean()
    whole, basis, shares = left @ left, [], {}
    for name, column in terms.items():
        residual = column - column.mean()
        size = np.sqrt(residual @ residual)
        for unit in (*basis, *basis):  # twice, against rounding errors
            residual = residual - (unit @ residual) * unit
        rest, share = np.sqrt(residual @ residual), 0.0
        if rest > 1e-9 * size:
            residual = residual / rest
            basis.append(residual)
            share = float((residual @ left) ** 2 / whole)
        shares[name] = share
    return shares | {"residual": 1 - sum(shares.values())}
