"""The deviance on cross-products, with its gradient, for three or more grouping factors.

As in `crosslmm.deviance`, with Z_r the columns of all factors but one. The factor with the
most effects, a, is eliminated: its part of P = Lambda'Z'Z Lambda + I is block-diagonal. The Schur
complement on the others, S = Lambda_r'(Z_r'Z_r - M'M) Lambda_r + I with M = T Z_a'Z_r, is factored
as a dense matrix of m columns. The gradient by a factor's covariance needs only diagonal blocks of
P^-1:

    Lambda'(Z'V^-1 Z)Lambda = I - P^-1,

or, if an L is not invertible, of Z'V^-1 Z itself.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.sparse import bsr_array, csr_array

from crosslmm.deviance import SAFE, left_of_squares, orthonormal
from crosslmm.factors import Factor, Levels, NotSearchable, joined
from crosslmm.formula import INTERCEPT, Formula, column

ROWS = 262_144
"""Number of rows whose products are summed at once."""
ELEMENTS = 250_000_000
"""Largest number of elements of Z_a'Z_r or Z_r'Z_r: 2 GB."""


SPARSE = 0.08
"""Share of nonzero elements of Z_a'Z_r below which sparse products are faster than dense ones."""


LEAST = 1e-6
"""L is treated as singular if the information on an effect, times its variance, is below this."""


@dataclass
class SeveralProducts:
    """Cross-products of Z_a, Z_r and W = [X y]."""

    n: int
    aa: np.ndarray
    """Z_a'Z_a by level (G, i, i)"""
    ar: np.ndarray
    """Z_a'Z_r (G, i, m)"""
    rr: np.ndarray
    """Z_r'Z_r (m, m)"""
    aw: np.ndarray
    """Z_a'W (G, i, p + 1)"""
    rw: np.ndarray
    """Z_r'W (m, p + 1)"""
    ww: np.ndarray
    """W'W (p + 1, p + 1)"""
    shapes: tuple[tuple[int, int], ...]
    """levels and columns of each factor but a"""
    kept: tuple[int, ...] = ()
    """columns of X that do not depend on earlier ones"""
    reml: bool = False
    """whether the likelihood is restricted"""

    @cached_property
    def between(self) -> np.ndarray | csr_array:
        """Z_a'Z_r (G i, m); sparse if, for example, most words were read by few subjects."""
        G, i, m = self.ar.shape
        values = self.ar.reshape(G * i, m)
        return csr_array(values) if np.count_nonzero(values) < SPARSE * values.size else values

    def parts(self) -> list[slice]:
        """Return each factor's columns of Z_r."""
        ends = np.cumsum([0, *(levels * k for levels, k in self.shapes)])
        return [slice(*pair) for pair in itertools.pairwise(ends)]

    def zz(self) -> list[np.ndarray]:
        """Return Z'Z by level (levels, k, k) of each factor, a first."""
        return [self.aa, *(_blocks(self.rr[s, s], k) for s, (_, k) in self._each())]

    def zw(self) -> list[np.ndarray]:
        """Return Z'W by level (levels, k, p + 1) of each factor, a first."""
        q = len(self.ww)
        return [self.aw, *(self.rw[s].reshape(-1, k, q) for s, (_, k) in self._each())]

    def _each(self) -> list[tuple[slice, tuple[int, int]]]:
        return list(zip(self.parts(), self.shapes, strict=True))


@dataclass
class SeveralSolution:
    """A model at given L: deviance, gradient by each covariance L L', estimates."""

    deviance: float
    by_S: list[np.ndarray]
    beta: np.ndarray
    sigma: float
    modes: list[np.ndarray]
    """conditional modes of each factor (levels, k), a first"""
    root: np.ndarray
    penalty: float
    squares: float
    """the penalised residual sum of squares r^2"""


def several_products(
    formula: Formula,
    factors: Sequence[Factor],
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None = None,
) -> SeveralProducts:
    """Compute the cross-products of data; the first of `factors` is the one that is eliminated.

    `weights` (n,) are as for `scaled_search.products_of`. Raises NotSearchable if they need too much memory.
    """
    levels = [joined(factor.group, groups) for factor in factors]
    sizes = [
        (len(of_group.names), len(f.columns)) for of_group, f in zip(levels, factors, strict=True)
    ]
    (G, i), shapes = sizes[0], tuple(sizes[1:])
    m = sum(count * k for count, k in shapes)
    largest = max(
        count * k * other * j for f, (count, k) in enumerate(sizes) for other, j in sizes[:f]
    )
    if max(G * i * m, m * m, largest) > ELEMENTS:
        raise NotSearchable(
            f"{m:,} random effects next to {G * i:,} are too many for cross-products"
        )
    n, p = len(y), len(formula.fixed)
    mean = float(y.mean()) if INTERCEPT in formula.fixed else 0.0
    total = SeveralProducts(
        n,
        np.zeros((G, i, i)),
        np.zeros((G, i, m)),
        np.zeros((m, m)),
        np.zeros((G, i, p + 1)),
        np.zeros((m, p + 1)),
        np.zeros((p + 1, p + 1)),
        shapes,
    )
    parts = total.parts()
    for start in range(0, n, ROWS):
        rows = slice(start, start + ROWS)
        some = {name: values[rows] for name, values in predictors.items()}
        size = len(y[rows])
        W = np.column_stack([*(column(c, some, size) for c in formula.fixed), y[rows] - mean])
        Z = [[column(c, some, size) for c in factor.columns] for factor in factors]
        if weights is not None:
            root = np.sqrt(weights[rows])
            W, Z = W * root[:, None], [[root * values for values in of_factor] for of_factor in Z]
        codes = [of_group.codes[rows] for of_group in levels]
        total.ww += W.T @ W
        for f, (count, k) in enumerate(sizes):
            sums = _by_level(codes[f], Z[f], list(W.T), count)
            target = total.aw if f == 0 else total.rw[parts[f - 1]].reshape(count, k, -1)
            target += sums
            within = _by_level(codes[f], Z[f], Z[f], count)
            if f == 0:
                total.aa += within
            else:
                block = total.rr[parts[f - 1], parts[f - 1]].reshape(count, k, count, k)
                block[np.arange(count), :, np.arange(count), :] += within
                total.rr[parts[f - 1], parts[f - 1]] = block.reshape(count * k, count * k)
            for other in range(f):
                cross = _sum_pairs(codes[other], Z[other], codes[f], Z[f], sizes[other], sizes[f])
                if other == 0:
                    total.ar[:, :, parts[f - 1]] += cross.reshape(G, i, count * k)
                else:
                    flat = cross.reshape(sizes[other][0] * sizes[other][1], count * k)
                    total.rr[parts[other - 1], parts[f - 1]] += flat
                    total.rr[parts[f - 1], parts[other - 1]] += flat.T
    return _drop_dependent(total)


def _by_level(
    codes: np.ndarray, left: list[np.ndarray], right: list[np.ndarray], levels: int
) -> np.ndarray:
    """Sum products of columns within each level (levels, left, right)."""
    sums = [[np.bincount(codes, z * w, levels) for w in right] for z in left]
    return np.array(sums).transpose(2, 0, 1)


def _sum_pairs(
    a: np.ndarray,
    left: list[np.ndarray],
    b: np.ndarray,
    right: list[np.ndarray],
    of_a: tuple[int, int],
    of_b: tuple[int, int],
) -> np.ndarray:
    """Sum products of columns within each pair of levels (G, i, H, j)."""
    (G, i), (H, j) = of_a, of_b
    cell, total = a * H + b, np.empty((G, i, H, j))
    for c, z in enumerate(left):
        for d, w in enumerate(right):
            total[:, c, :, d] = np.bincount(cell, z * w, G * H).reshape(G, H)
    return total


def _drop_dependent(products: SeveralProducts) -> SeveralProducts:
    """Drop columns of X that depend on earlier ones (see `cross_products.independent`)."""
    p = len(products.ww) - 1
    gram, kept = products.ww[:p, :p].copy(), []
    size = np.diagonal(gram).copy()
    for c in range(p):
        if gram[c, c] > 1e-11 * max(size[c], np.finfo(float).tiny):
            kept.append(c)
            gram -= np.outer(gram[:, c], gram[c]) / gram[c, c]
    chosen = [*kept, p]
    return replace(
        products,
        aw=products.aw[:, :, chosen],
        rw=products.rw[:, chosen],
        ww=products.ww[np.ix_(chosen, chosen)],
        kept=tuple(kept),
    )


def solve_several(
    products: SeveralProducts, Ls: Sequence[np.ndarray], sigma: float | None = None
) -> SeveralSolution:
    """Solve a model at the L (k, k) of each factor, a first, and the best or the given sigma.

    Raises numpy.linalg.LinAlgError if the likelihood has no finite value.
    """
    (G, i, m), p, parts = products.ar.shape, len(products.ww) - 1, products.parts()
    La, n = Ls[0], products.n
    rest = list(zip(parts, Ls[1:], strict=True))
    C = np.linalg.cholesky(La.T @ products.aa @ La + np.eye(i))
    T = np.linalg.inv(C) @ La.T
    M = _multiply_levels(T, products.between)
    schur = products.rr - _dense(M.T @ M)
    S = scaled_columns(scaled_columns(schur, rest).T.copy(), rest)
    S.flat[:: m + 1] += 1
    F = cholesky(S, lower=True, check_finite=False)
    MW = (T @ products.aw).reshape(G * i, p + 1)
    R = solve_triangular(F, scaled_columns((products.rw - M.T @ MW).T.copy(), rest).T, lower=True)
    logs = np.log(np.diagonal(C, axis1=1, axis2=2)).sum() + np.log(np.diagonal(F)).sum()

    left = products.ww - MW.T @ MW - R.T @ R
    E = left_of_squares(left, products.ww[p, p])
    r2 = E[p, p] ** 2
    weights = np.ones(p + 1)  # e = W weights
    weights[:p] = -solve_triangular(E[:p, :p], E[p, :p], lower=True, trans=1)
    free = n - p if products.reml else n
    variance, precision = (r2 / free, free / r2) if sigma is None else (sigma**2, sigma**-2)
    deviance = 2 * logs + r2 / variance + free * np.log(2 * np.pi * variance)

    def effects(v: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return ur, b, ba, and Z'V^-1 W v of a and of the others."""
        ur = solve_triangular(F, R @ v, lower=True, trans=1)
        b = np.concatenate([(ur[s].reshape(-1, len(L)) @ L.T).ravel() for s, L in rest])
        left_a = products.aw @ v - products.ar @ b
        ba = np.einsum("gji,gjk,gk->gi", T, T, left_a, optimize=True)
        wa = left_a - np.einsum("gij,gj->gi", products.aa, ba)
        wr = products.rw @ v - products.rr @ b - products.ar.reshape(G * i, m).T @ ba.ravel()
        return ur, b, ba, wa, wr

    ur, b, ba, wa, wr = effects(weights)
    ua = wa @ La
    squares = [(precision, wa, wr)]
    if products.reml:
        deviance += 2 * np.log(np.diagonal(E)[:p]).sum()
        squares += [(1.0, *effects(v)[3:]) for v in orthonormal(E)]

    lower = np.tril(dpotri(F, lower=1)[0])
    inverse = lower + np.tril(lower, -1).T
    by_S = [_of_first(products, La, C, T, F, inverse, rest)]
    by_S[0] = by_S[0] - sum(share * za.T @ za for share, za, _ in squares)
    for (s, L), (levels, k) in zip(rest, products.shapes, strict=True):
        if _is_safe(L, _blocks(products.rr[s, s], k)):
            of_factor = _blocks(inverse[s, s], k).sum(0)
            by_L = np.linalg.solve(L.T, levels * np.eye(k) - of_factor)
            trace = np.linalg.solve(L.T, by_L.T).T
        else:
            turned = solve_triangular(F, scaled_columns(schur, rest)[s].T, lower=True)
            trace = _blocks(schur[s, s], k).sum(0)
            trace = trace - np.einsum("qhk,qhl->kl", *[turned.reshape(m, levels, k)] * 2)
        of_level = [(share, zr[s].reshape(levels, k)) for share, _, zr in squares]
        by_S.append(trace - sum(share * z.T @ z for share, z in of_level))
    modes = [ba, *(b[s].reshape(levels, k) for s, (levels, k) in products._each())]
    return SeveralSolution(
        deviance=float(deviance),
        by_S=by_S,
        beta=-weights[:p],
        sigma=float(np.sqrt(variance)),
        modes=modes,
        root=E[:p, :p],
        penalty=float((ua**2).sum() + ur @ ur),
        squares=float(r2),
    )


def _of_first(
    products: SeveralProducts,
    La: np.ndarray,
    C: np.ndarray,
    T: np.ndarray,
    F: np.ndarray,
    inverse: np.ndarray,
    rest: Sequence[tuple[slice, np.ndarray]],
) -> np.ndarray:
    """Return the sum over levels of Z_a'V^-1 Z_a (i, i)."""
    G, i, m = products.ar.shape
    if _is_safe(La, products.aa):
        # The block of P^-1 is C^-T (I + M Lambda S^-1 Lambda' M') C^-1 with a level's rows of M.
        inverse_C = np.linalg.inv(C)
        outward = inverse_C.transpose(0, 2, 1)
        U = _multiply_levels(outward @ T, products.between)
        outer = [(s, L.T) for s, L in rest]
        spread = scaled_columns(scaled_columns(inverse, outer).T, outer)
        total = (outward @ inverse_C).sum(0)
        for one, other in itertools.combinations_with_replacement(range(i), 2):
            value = float((_dense(U[one::i].T @ U[other::i]) * spread).sum())
            total[one, other] += value
            if one != other:
                total[other, one] += value
        by_L = np.linalg.solve(La.T, G * np.eye(i) - total)
        return np.linalg.solve(La.T, by_L.T).T
    Q = np.eye(i) - products.aa @ T.transpose(0, 2, 1) @ T
    turned = solve_triangular(F, scaled_columns(products.ar.reshape(G * i, m), rest).T, lower=True)
    X = np.einsum("qgi,qgj->gij", *[turned.reshape(m, G, i)] * 2, optimize=True)
    return (Q @ products.aa - Q @ X @ Q.transpose(0, 2, 1)).sum(0)


def _multiply_levels(T: np.ndarray, values: np.ndarray | csr_array) -> np.ndarray | csr_array:
    """Multiply each level's rows of `values` (G i, m) by the level's T (G, i, i)."""
    G, i, _ = T.shape
    if isinstance(values, np.ndarray):
        return (T @ values.reshape(G, i, -1)).reshape(values.shape)
    return csr_array(bsr_array((T, np.arange(G), np.arange(G + 1))) @ values)


def _dense(values: np.ndarray | csr_array) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else values.toarray()


def _is_safe(L: np.ndarray, zz: np.ndarray) -> bool:
    """Return whether I - P^-1 keeps its digits when multiplied by the inverse of L."""
    information = L.T @ zz.mean(0) @ L
    return bool(np.linalg.eigvalsh(information)[0] > LEAST and np.linalg.cond(L) < SAFE)


def scaled_columns(values: np.ndarray, rest: Sequence[tuple[slice, np.ndarray]]) -> np.ndarray:
    """Return `values` (c, m) times Lambda_r."""
    scaled = np.empty_like(values)
    for s, L in rest:
        k = len(L)
        part = values[:, s]
        scaled[:, s] = part * L.item() if k == 1 else (part.reshape(-1, k) @ L).reshape(part.shape)
    return scaled


def _blocks(values: np.ndarray, k: int) -> np.ndarray:
    """Return the diagonal blocks (levels, k, k) of a matrix (levels k, levels k)."""
    levels = len(values) // k
    index = np.arange(levels)
    return values.reshape(levels, k, levels, k)[index, :, index, :]


def several_squares_left(
    formula: Formula,
    factors: Sequence[Factor],
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    products: SeveralProducts,
    at: SeveralSolution,
    weights: np.ndarray | None = None,
) -> float:
    """Return the rows' sum of squared residuals under a model solved on cross-products."""
    n = len(y)
    left = y - (y.mean() if INTERCEPT in formula.fixed else 0.0)
    for index, value in zip(products.kept, at.beta, strict=True):
        left = left - value * column(formula.fixed[index], predictors, n)
    for factor, modes in zip(factors, at.modes, strict=True):
        codes = joined(factor.group, groups).codes
        for c, name in enumerate(factor.columns):
            left = left - modes[codes, c] * column(name, predictors, n)
    return float(left @ (left if weights is None else weights * left))
