"""A mixed model fitted again and again, the levels of one factor drawn with replacement.

The likelihood knows the data by their cross-products alone, and those of a draw are sums over the
levels drawn: they are made once, level by level, and a refit costs a descent from the optimum of
the data. A level that is drawn twice counts as two levels, which have the same conditional modes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recency.errors import InputError
from recency.mixed.cross_products import Block, Products, cross_products, independent
from recency.mixed.deviance import solve
from recency.mixed.factors import crossed_factors
from recency.mixed.formula import INTERCEPT, Formula, column
from recency.mixed.theta_search import search


@dataclass
class Sample:
    """Rows of a model: predictors (n,) scaled as the fit has them, y (n,), and codes of both factors."""

    predictors: Mapping[str, np.ndarray]
    y: np.ndarray
    drawn: np.ndarray
    other: np.ndarray


class Resampled:
    """A model of rows `fit`, whose refits predict rows `test`; G levels are drawn, H are not.

    `formula` has random terms of the grouping variable `group`, which is drawn, and perhaps an
    intercept of another one. Raises InputError where it has more.
    """

    def __init__(self, formula: Formula, group: str, fit: Sample, test: Sample, G: int, H: int):
        factors = {factor.group: factor for factor in crossed_factors(formula)}
        others = [factor for name, factor in factors.items() if name != group]
        simple = all(factor.columns == (INTERCEPT,) for factor in others)
        if group not in factors or len(others) > 1 or not simple:
            raise InputError(
                f"formula '{formula}': refits draw {group}s anew, and cover random terms of {group} and "
                "an intercept of one other grouping variable"
            )
        self._columns, self._random, self._intercept = formula.fixed, factors[group].columns, others
        self._shift = float(fit.y.mean()) if INTERCEPT in formula.fixed else 0.0
        self._free = (factors[group].free, others[0].free if others else np.zeros((0, 0), bool))
        block = self._block(fit)
        whole = cross_products([block], G, H)
        self._kept = [*(independent(whole).kept or ()), len(formula.fixed)]
        self._sum(block, whole, G, H)
        found = search(self.products(np.ones(G, dtype=int)), *self._free)
        self._La, self._Lb = found.La, found.Lb
        self._test = self._block(test)

    def _block(self, rows: Sample) -> Block:
        def matrix(columns: tuple[str, ...]) -> np.ndarray:
            n = len(rows.y)
            return np.array([column(c, rows.predictors, n) for c in columns]).reshape(-1, n).T

        Zb = np.ones((len(rows.y), len(self._intercept)))
        y = rows.y - self._shift
        return Block(matrix(self._columns), y, rows.drawn, matrix(self._random), rows.other, Zb)

    def _sum(self, block: Block, whole: Products, G: int, H: int) -> None:
        """Keep the cross-products that are no sums by level already, level by level."""
        W = np.column_stack([block.X, block.y])[:, self._kept]
        cell, order = block.a * H + block.b, np.argsort(block.a, kind="stable")
        self._aa, self._ab, self._aw = whole.aa, whole.ab, whole.aw[:, :, self._kept]
        self._n = np.bincount(block.a, minlength=G)
        ends = np.cumsum(self._n)
        parts = [W[order[end - n : end]] for n, end in zip(self._n, ends, strict=True)]
        self._ww = np.array([part.T @ part for part in parts])
        self._rows = np.bincount(cell, minlength=G * H).reshape(G, H).astype(float)
        sums = [np.bincount(cell, values, G * H).reshape(G, H) for values in W.T]
        self._bw = np.stack(sums, axis=2)

    def products(self, times: np.ndarray) -> Products:
        """Return the cross-products where each level (G,) is there so many `times`."""
        copies, j = np.repeat(np.arange(len(times)), times), len(self._intercept)
        weights = times.astype(float)
        bb = (weights @ self._rows)[:, None, None] * np.ones((1, j, j))
        bw = np.tensordot(weights, self._bw, 1)[:, None, :] * np.ones((1, j, 1))
        return Products(
            n=int(times @ self._n), aa=self._aa[copies], bb=bb, ab=self._ab[copies],
            aw=self._aw[copies], bw=bw, ww=np.tensordot(weights, self._ww, 1),
        )  # fmt: skip

    def loglik(self, times: np.ndarray, gain: float = 1e-6) -> float:
        """Refit with each level (G,) so many `times`; return the log-likelihood of these test rows.

        Natural logarithm, given the random effects; NaN where the refit has no finite likelihood.
        """
        products = self.products(times)
        try:
            start = self._La, self._Lb
            found = search(products, *self._free, start, gain)
            at = solve(products, found.La, found.Lb)
        except np.linalg.LinAlgError:
            return float("nan")
        test, first = self._test, np.minimum(np.cumsum(times) - times, times.sum() - 1)
        fitted = test.X[:, self._kept[:-1]] @ at.beta
        fitted += np.einsum("nk,nk->n", test.Za, at.modes_a[first[test.a]])
        if self._intercept:
            fitted += at.modes_b[test.b, 0]
        each = -0.5 * (np.log(2 * np.pi * at.sigma**2) + ((test.y - fitted) / at.sigma) ** 2)
        return float(times @ np.bincount(test.a, each, len(times)))
