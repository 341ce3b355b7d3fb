"""Sums of products by pair of levels, and mixed models of weighted samples of these levels.

The Gaussian likelihood of a model with two crossed factors depends on the data through sums of
products within each pair of levels, a cell. A bootstrap sample draws levels with replacement: each
level of a occurs m_g times and each level of b m_h times, as distinct levels, and a cell counts m_g
m_h times. The m copies of a level have the same data, so an orthogonal change of coordinates leaves
one level whose sums are scaled by sqrt(m), and m - 1 contrasts that are independent of everything
else (crosslmm.deviance). A refit is therefore exact, and costs no more than the distinct
levels.

The search for theta in bootstrap samples starts from the mean of a few samples' optima.

The Hessian differs little between samples, so it is approximated once, at this start, and updated by BFGS in each search. Variances that are zero there start at their standard error,
since at zero the gradient by their square roots is zero as well (crosslmm.theta_search).
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crosslmm.cross_products import Products, drop_dependent
from crosslmm.deviance import Solution, log_density, solve
from crosslmm.factors import Factor
from crosslmm.formula import INTERCEPT, Formula, column
from crosslmm.internal import relative_root
from crosslmm.theta_search import (
    Chart,
    blocks_of,
    bound_from_below,
    gain_at,
    line_search,
    precision_at,
    search,
    triangle,
    update_inverse,
)

SLACK = 10.0
"""Factor of `enough` by which two approximations of the last step's gain may differ."""
EVALUATIONS = 15
"""Number of evaluations after which the ordinary search is used."""


@dataclass
class _Point:
    deviance: float
    Ls: list[np.ndarray]
    solution: Solution

    @property
    def by_S(self) -> list[np.ndarray]:
        return [self.solution.by_Sa, self.solution.by_Sb]


class WarmStart:
    """A search that starts from (La, Lb), near the optimum of all samples.

    Parameters
    ----------
    products
        Cross-products of all data, without `times_a` and `times_b`, or with ones.
    free_a, free_b
        True where an element of the lower triangle of La (i, i) and Lb (j, j) is free.
    La, Lb
        The start; a variance of 0 is replaced by its standard error.
    """

    def __init__(
        self,
        products: Products,
        free_a: np.ndarray,
        free_b: np.ndarray,
        La: np.ndarray,
        Lb: np.ndarray,
    ) -> None:
        self._free = (free_a, free_b)
        self._zz = [products.aa, products.bb]
        self._blocks = blocks_of(self._free)
        starts = []
        for L, zz, free in zip((La, Lb), self._zz, self._free, strict=True):
            if len(L):
                L = np.linalg.cholesky(bound_from_below(L @ L.T, precision_at(zz, L), free))
            starts.append(L)
        self._chart = Chart(self._blocks, starts)
        there = self._at(products, self._chart.factors(self._chart.start))
        self._inverse = self._chart.inverse_hessian(self._chart.start, there.by_S, self._zz)

    def search(self, products: Products, enough: float) -> tuple[np.ndarray, np.ndarray, Solution]:
        """Return La, Lb and the solution of a sample at its optimum.

        The search ends when a step is expected to decrease the deviance by less than `enough`.
        Raises numpy.linalg.LinAlgError if the likelihood has no finite value.
        """
        point, ended = self._descend(products, enough)
        if not ended:
            optimum = search(products, *self._free, (point.Ls[0], point.Ls[1]), enough)
            return optimum.La, optimum.Lb, optimum.solution
        La, Lb = (
            np.where(free, triangle(L), 0.0) for free, L in zip(self._free, point.Ls, strict=True)
        )
        return La, Lb, point.solution

    def _descend(self, products: Products, enough: float) -> tuple[_Point, bool]:
        """Descend by BFGS; return the last point, and whether it is an optimum."""
        evaluations = 0

        def at(Ls: Sequence[np.ndarray]) -> _Point:
            nonlocal evaluations
            evaluations += 1
            return self._at(products, Ls)

        chart, theta, inverse = self._chart, self._chart.start, self._inverse
        point = at(chart.factors(theta))
        gradient = chart.gradient(theta, point.by_S)
        while True:
            step = -inverse @ gradient
            slope = float(step @ gradient)
            if -slope / 2 <= enough:
                return point, self._gain(point) <= SLACK * enough
            if evaluations >= EVALUATIONS:
                return point, False
            lower = line_search(at, chart, theta, step, point.deviance, slope)
            if lower is None:
                return point, False
            before, theta, point = (theta, gradient), *lower
            gradient = chart.gradient(theta, point.by_S)
            inverse = update_inverse(inverse, theta - before[0], gradient - before[1])

    def _gain(self, point: _Point) -> float:
        """Return a step's expected decrease of the deviance, by the Hessian at the point itself."""
        return gain_at(self._blocks, point.Ls, point.by_S, self._zz)

    def _at(self, products: Products, Ls: Sequence[np.ndarray]) -> _Point:
        solution = solve(products, Ls[0], Ls[1])
        return _Point(solution.deviance, list(Ls), solution)


BLOCK = 65_536
"""Number of rows whose products are summed at once."""


@dataclass
class Fit:
    """A model fitted to a weighted sample; La and Lb are the factors' Cholesky factors."""

    La: np.ndarray
    Lb: np.ndarray
    solution: Solution
    """beta (p,), sigma, and the conditional modes of the sampled levels"""
    loglik: float
    """maximised marginal log-likelihood of the sample; natural logarithm"""


@dataclass
class _Sample:
    """The levels in a sample, and their cells."""

    levels_a: np.ndarray
    levels_b: np.ndarray
    times_a: np.ndarray
    times_b: np.ndarray
    n: np.ndarray
    """rows of each cell (G, H)"""
    sums: np.ndarray
    """sums of products of each cell (G, H, pairs of columns)"""


class Cells:
    """The sums of products of a model's columns within each cell.

    Parameters
    ----------
        The model; its fixed columns are X.
        The model; its fixed columns are X.
    a, b
        The grouping factors; `b` may be None.
    predictors
        Columns (n,) by name.
    y
        Response (n,).
    codes_a, codes_b
        Level of each row (n,). Without a factor b, `codes_b` are the levels of an axis that is
        sampled but has no effects.
    shape
        Number of levels (G, H).
    """

    def __init__(
        self,
        formula: Formula,
        a: Factor,
        b: Factor | None,
        predictors: Mapping[str, np.ndarray],
        y: np.ndarray,
        codes_a: np.ndarray,
        codes_b: np.ndarray,
        shape: tuple[int, int],
    ) -> None:
        free = [a.free, b.free if b else np.zeros((0, 0), dtype=bool)]
        self.free_a, self.free_b = free
        names = list(dict.fromkeys((*formula.fixed, *a.columns, *(b.columns if b else ()))))
        index = {name: number for number, name in enumerate(names)}
        q = len(names) + 1
        self._a = [index[name] for name in a.columns]
        self._b = [index[name] for name in b.columns] if b else []
        self.shift = float(y.mean()) if INTERCEPT in formula.fixed else 0.0
        size = shape[0] * shape[1]
        first, second = np.triu_indices(q)
        sums, counts = np.zeros((len(first), size)), np.zeros(size)
        for start in range(0, len(y), BLOCK):
            rows = slice(start, start + BLOCK)
            part = {name: values[rows] for name, values in predictors.items()}
            n = len(y[rows])
            columns = [column(name, part, n) for name in names] + [y[rows] - self.shift]
            cell = codes_a[rows] * shape[1] + codes_b[rows]
            counts += np.bincount(cell, minlength=size)
            for pair, (i, j) in enumerate(zip(first, second, strict=True)):
                sums[pair] += np.bincount(cell, columns[i] * columns[j], size)
        self.n = counts.reshape(shape)
        # The product of columns i and j is stored once, at `_pair[i, j]`.
        self._sums = np.ascontiguousarray(sums.T)
        self._pair = np.empty((q, q), dtype=int)
        self._pair[first, second] = self._pair[second, first] = np.arange(len(first))
        self._use([*(index[name] for name in formula.fixed), q - 1])
        whole = self.products(*(np.ones(levels, dtype=int) for levels in shape))
        # Linearly dependent columns of X are dropped, as in lme4.
        kept = drop_dependent(whole).kept
        self.fixed = tuple(formula.fixed[c] for c in kept)
        self._use([*(self._W[c] for c in kept), q - 1])

    def _use(self, W: list[int]) -> None:
        """Set the indices of products of Z_a, Z_b and these columns of X and y."""
        a, b, self._W = self._a, self._b, W
        self._aa, self._bb, self._ww = (self._pair[np.ix_(c, c)] for c in (a, b, W))
        self._ab, self._aw = self._pair[np.ix_(a, b)], self._pair[np.ix_(a, W)]
        self._bw = self._pair[np.ix_(b, W)]

    def products(self, times_a: np.ndarray, times_b: np.ndarray) -> Products:
        """Return the cross-products of a sample, given the levels' frequencies (G,) and (H,).

        Levels that do not occur are left out.
        """
        return self._products(self._sample(times_a, times_b))

    def _sample(self, times_a: np.ndarray, times_b: np.ndarray) -> _Sample:
        levels_a, levels_b = np.flatnonzero(times_a), np.flatnonzero(times_b)
        shape = len(levels_a), len(levels_b)
        cells = (levels_a[:, None] * self.n.shape[1] + levels_b).ravel()
        return _Sample(
            levels_a,
            levels_b,
            times_a[levels_a],
            times_b[levels_b],
            self.n.take(cells).reshape(shape),
            self._sums.take(cells, 0).reshape(*shape, -1),
        )

    def _products(self, sample: _Sample) -> Products:
        sums, m_a, m_b = sample.sums, sample.times_a.astype(float), sample.times_b.astype(float)
        G, H, pairs = sums.shape
        by_a = m_b @ sums
        by_b = (m_a @ sums.reshape(G, H * pairs)).reshape(H, pairs)
        root_a, root_b = np.sqrt(m_a), np.sqrt(m_b)
        i, j = self._ab.shape
        ab, scale = np.empty((G, i, H, j)), np.outer(root_a, root_b)
        for c in range(i):
            for d in range(j):
                np.multiply(sums[:, :, self._ab[c, d]], scale, out=ab[:, c, :, d])
        return Products(
            n=round(m_a @ sample.n @ m_b),
            aa=by_a[:, self._aa],
            bb=by_b[:, self._bb],
            ab=ab,
            aw=by_a[:, self._aw] * root_a[:, None, None],
            bw=by_b[:, self._bw] * root_b[:, None, None],
            ww=(m_a @ by_a)[self._ww],
            times_a=sample.times_a,
            times_b=sample.times_b,
        )

    def fit(
        self,
        times_a: np.ndarray,
        times_b: np.ndarray,
        start: WarmStart | None = None,
        enough: float = 1e-10,
    ) -> Fit:
        """Fit the model to a sample by maximum likelihood, from `start` or from moments.

        The search ends when a step is expected to decrease the deviance by less than `enough`.
        Raises numpy.linalg.LinAlgError if the likelihood has no finite maximum.
        """
        products = self.products(times_a, times_b)
        if start is None:
            optimum = search(products, self.free_a, self.free_b, enough=enough)
            La, Lb, solution = optimum.La, optimum.Lb, optimum.solution
        else:
            La, Lb, solution = start.search(products, enough)
        if not np.isfinite(solution.deviance):
            raise np.linalg.LinAlgError("the deviance is not finite")
        return Fit(La, Lb, solution, -solution.deviance / 2)

    def warm_start(
        self, samples: Sequence[tuple[np.ndarray, np.ndarray]] = (), enough: float = 1e-3
    ) -> WarmStart:
        """Return the start for samples' fits.

        It is the fit in which every level occurs once or, given the frequencies of the levels of
        some `samples`, the mean of the covariances of these samples' fits. Copies of a level share
        its residuals, which samples' fits take for effects of the level: their optima lie around
        another point than that of all data.
        """
        once = [np.ones(levels, dtype=int) for levels in self.n.shape]
        fit, products = self.fit(*once), self.products(*once)
        start = WarmStart(products, self.free_a, self.free_b, fit.La, fit.Lb)
        roots = []
        for times in samples:
            with contextlib.suppress(np.linalg.LinAlgError):
                fit = self.fit(*times, start, enough)
                roots.append((fit.La, fit.Lb))
        if not roots:
            return start
        La, Lb = (
            relative_root(np.mean([L @ L.T for L in of_factor], axis=0))
            for of_factor in zip(*roots, strict=True)
        )
        return WarmStart(products, self.free_a, self.free_b, La, Lb)

    def log_density(
        self, fit: Fit, times_a: np.ndarray, times_b: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return the marginal log-likelihood of a sample, and each cell's part (G, H).

        A cell's part has its share of the quadratic form e'V^-1 e and its rows' share of the rest.
        It is that of one copy of its levels.
        """
        at, sample = fit.solution, self._sample(times_a, times_b)
        products = self._products(sample)
        if products.n == 0:
            return 0.0, np.zeros(self.n.shape)
        density = log_density(products, fit.La, fit.Lb, at.beta, at.sigma)
        weights = np.zeros(len(self._pair))
        weights[self._W] = np.append(-at.beta, 1.0)
        # e'e of each cell, and the products of e with the columns of Z_a and Z_b.
        columns = [*self._a, *self._b]
        of_pair = np.zeros((sample.sums.shape[2], 1 + len(columns)))
        np.add.at(of_pair[:, 0], self._pair, np.outer(weights, weights))
        for number, c in enumerate(columns, 1):
            of_pair[self._pair[c], number] = weights
        by_cell = sample.sums @ of_pair
        i = 1 + len(self._a)
        quadratic = by_cell[:, :, 0]
        quadratic -= np.einsum("ghi,gi->gh", by_cell[:, :, 1:i], density.modes_a)
        quadratic -= np.einsum("ghj,hj->gh", by_cell[:, :, i:], density.modes_b)
        rest = np.log(2 * np.pi * at.sigma**2) + density.log_determinant / products.n
        parts = np.zeros(self.n.shape)
        inside = quadratic / at.sigma**2 + rest * sample.n
        parts[sample.levels_a[:, None], sample.levels_b] = -0.5 * inside
        return density.value, parts
