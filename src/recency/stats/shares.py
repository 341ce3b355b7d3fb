"""Shares of variance that the terms of a linear model explain, one after the other."""

from collections.abc import Mapping

import numpy as np


def sequential(response: np.ndarray, terms: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return each term's share (0 to 1) of the variance of `response` (n,), and the `residual`'s.

    The sums of squares are those of an analysis of variance of type I: what a term, a column (n,),
    takes beyond the mean and the terms before it. A term of those before takes nothing.
    """
    left = response - response.mean()
    whole, basis, found = left @ left, [], {}
    for name, column in terms.items():
        own = column - column.mean()
        size = np.sqrt(own @ own)
        for each in (*basis, *basis):  # twice, or rounding leaves some of them
            own = own - (each @ own) * each
        rest, share = np.sqrt(own @ own), 0.0
        if rest > 1e-9 * size:
            own = own / rest
            basis.append(own)
            share = float((own @ left) ** 2 / whole)
        found[name] = share
    return found | {"residual": 1 - sum(found.values())}
