"""The deviance of a linear mixed model on its cross-products, with a combination of fixed effects held.

c'b = v is held by a change of the cross-products alone: with b_k = (v - sum of the other c_l b_l) / c_k
the columns of X become x_l - x_k c_l / c_k, and y becomes y - x_k v / c_k.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from recency.mixed.cross_products import Products
from recency.mixed.formula import INTERCEPT
from recency.mixed.scaled_search import ScaledSearch
from recency.mixed.several import SeveralProducts
from recency.mixed.theta_search import search, search_several

ENOUGH = 1e-6
"""What the last step of a search may expect to gain: an interval's end needs no more."""


def constrained(
    products: Products | SeveralProducts, combination: np.ndarray, value: float
) -> Products | SeveralProducts:
    """Return the cross-products of a model whose fixed effects b (p,) have combination'b = value."""
    p = len(combination)
    k = int(np.argmax(np.abs(combination) * np.sqrt(np.diagonal(products.ww)[:p])))
    others = [column for column in range(p + 1) if column != k]
    T = np.eye(p + 1)[:, others]
    T[k] = -np.append(combination, value)[others] / combination[k]
    aw, ww = products.aw @ T, T.T @ products.ww @ T
    if isinstance(products, SeveralProducts):
        return replace(products, aw=aw, rw=products.rw @ T, ww=ww)
    cells = products.cells
    if cells is not None:
        of_z, of_w = np.split(cells, [cells.shape[2] - p - 1], axis=2)
        cells = np.concatenate([of_z, of_w @ T], axis=2)
    return replace(products, aw=aw, bw=products.bw @ T, ww=ww, cells=cells)


class HeldFixed:
    """The deviance of a searched model where a combination of its fixed effects has a value.

    Parameters
    ----------
    searched
        The model at its optimum.
    combination
        Weights (p,) of the fixed effects as they were given, without those that were dropped.
    """

    def __init__(self, searched: ScaledSearch, combination: np.ndarray) -> None:
        kept = list(searched.found.products.kept)
        names = [searched.formula.fixed[c] for c in kept]
        at_intercept = names.index(INTERCEPT) if INTERCEPT in names else None
        # The response was centred.
        self._mean = 0.0 if at_intercept is None else combination[at_intercept] * searched.mean
        self._combination = searched.B[np.ix_(kept, kept)].T @ combination
        self._found = searched.found

    def deviance(
        self, value: float, start: Sequence[np.ndarray] | None = None
    ) -> tuple[float, list[np.ndarray]]:
        """Return the deviance, and the L's at which it is least; `start` are L's of a value nearby."""
        found = self._found
        products = constrained(found.products, self._combination, value - self._mean)
        start = start or found.roots
        free = [factor.free for factor in found.factors]
        if isinstance(products, SeveralProducts):
            optimum = search_several(products, free, start, ENOUGH)
        else:
            free += [np.zeros((0, 0), dtype=bool)] * (2 - len(free))
            optimum = search(products, *free, start, ENOUGH)
        return optimum.deviance, replace(found, optimum=optimum).roots
