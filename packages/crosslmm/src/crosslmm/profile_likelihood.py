"""The deviance of a linear mixed model from cross-products, with fixed effects constrained.

c'b = v is imposed by a change of the cross-products: with b_k = (v - sum of the other c_l b_l) /
c_k the columns of X become x_l - x_k c_l / c_k, and y becomes y - x_k v / c_k.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crosslmm.cross_products import Products
from crosslmm.scaled_search import Searched
from crosslmm.several import SeveralProducts
from crosslmm.theta_search import search, search_several

ENOUGH = 1e-6
"""Expected gain at which a search ends, which suffices for an interval's end."""


def constrain(
    products: Products | SeveralProducts, combination: np.ndarray, value: float
) -> Products | SeveralProducts:
    """Return the cross-products of a model with the constraint combination'b = value, b (p,)."""
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
    """The deviance of a searched model as a function of a combination of its fixed effects.

    Parameters
    ----------
    searched
        The model at its optimum.
    combination
        Weights (p,) of the fixed effects in their given units, without dropped ones.
    """

    def __init__(self, searched: Searched, combination: np.ndarray) -> None:
        scale = searched.model.scale
        self._mean = 0.0
        if scale.mean:
            self._mean = scale.mean * float(combination @ scale.fixed.constant[list(searched.kept)])
        self._factor = scale.factor
        self._combination = searched.B.T @ combination
        self._result = searched.result

    def deviance(
        self, value: float, start: Sequence[np.ndarray] | None = None
    ) -> tuple[float, list[np.ndarray]]:
        """Return the minimal deviance, and the factors' L there; `start` are L nearby."""
        result, held = self._result, (value - self._mean) / self._factor
        products = constrain(result.products, self._combination, held)
        start = start or result.roots
        free = [factor.free for factor in result.factors]
        if isinstance(products, SeveralProducts):
            optimum = search_several(products, free, start, ENOUGH)
        else:
            free += [np.zeros((0, 0), dtype=bool)] * (2 - len(free))
            optimum = search(products, *free, start, ENOUGH)
        return optimum.deviance, replace(result, optimum=optimum).roots
