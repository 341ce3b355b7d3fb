"""The deviance of a mixed model from cross-products, with its gradient.

With Lambda the block-diagonal matrix of the L_f, P = Lambda'Z'Z Lambda + I and r^2 the penalised
residual sum of squares at the optimal b,

    deviance = log|P| + n (1 + log(2 pi r^2 / n)),

which is -2 log-likelihood profiled over b and sigma (Bates et al. 2015, eq. 34 and following).
Factor a is eliminated first, since its part of P is block-diagonal; the matrix that is factored is
the Schur complement on factor b. With V = I + Z Lambda Lambda'Z', e = y - X b, u the spherical
random effects (P u = Lambda'Z'e) and w = Z'V^-1 e = Z'e - Z'Z Lambda u, the gradient is

    d deviance / d (L_f L_f') = sum_g (Z'V^-1 Z)_gg - (n / r^2) sum_g w_g w_g',

with sums over the levels g of f; the gradient by L_f is twice this times L_f. The restricted
likelihood has n - p in place of n, log|X'V^-1 X| is added to the deviance, and each column x of X
that is orthonormal under V^-1 adds -Z'V^-1 x x'V^-1 Z to the gradient.

A nested intercept (of each pair of levels of a and b, with relative sd t) is eliminated before
everything else: a pair's n rows have V_c^-1 = I - t^2 / (1 + t^2 n) 1 1', so every cross-product
loses t^2 / (1 + t^2 n) times the product of the pair's sums, and log|P| gains the sum of
log(1 + t^2 n).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from crosslmm.by_level import whiten
from crosslmm.cross_products import Dense, Products, Sparse

ROUNDING = 1e-12
"""Rounding error of sums relative to the response's squares; smaller residuals are treated as 0."""
SAFE = 1e4
"""Largest condition number of an L whose inverse is used in a gradient."""
LEAST = 1e-6
"""L is treated as singular if the information on an effect, times its variance, is below this."""


class NoResiduals(np.linalg.LinAlgError):
    """The effects explain the response completely, which leaves no variance to estimate."""

    def __str__(self) -> str:
        return "the effects leave no residuals"


@dataclass
class Solution:
    """A model at given La (i, i), Lb (j, j) and t: deviance, gradients, estimates."""

    deviance: float
    by_La: np.ndarray
    by_Lb: np.ndarray
    by_t: float
    by_Sa: np.ndarray
    """the gradient by a's relative covariance La La' (i, i); by_La is 2 by_Sa La"""
    by_Sb: np.ndarray
    """the gradient by b's relative covariance (j, j)"""
    by_tt: float
    """the gradient by t squared"""
    beta: np.ndarray
    """fixed effects (p,)"""
    sigma: float
    modes_a: np.ndarray
    """conditional modes of factor a (G, i)"""
    modes_b: np.ndarray
    """conditional modes of factor b (H, j)"""
    root: np.ndarray
    """lower triangular, root root' = X'V^-1 X (p, p)"""
    penalty: float
    """the sum of the squares of the spherical random effects u of both factors"""
    squares: float
    """the penalised residual sum of squares r^2"""

    @property
    def modes(self) -> list[np.ndarray]:
        """Conditional modes of each factor."""
        return [self.modes_a, self.modes_b]


def left_of_squares(left: np.ndarray, squares: float) -> np.ndarray:
    """Return the lower Cholesky factor of the remainder of W'W, (p + 1, p + 1); its corner is r.

    `squares` is the response's sum of squares. Raises NoResiduals, and numpy.linalg.LinAlgError if
    X is rank-deficient.
    """
    p = len(left) - 1
    E = np.zeros_like(left)
    E[:p, :p] = np.linalg.cholesky(left[:p, :p])
    E[p, :p] = _solve(E[:p, :p], left[:p, p])
    r2 = left[p, p] - E[p, :p] @ E[p, :p]
    if r2 <= ROUNDING * squares:
        raise NoResiduals
    E[p, p] = np.sqrt(r2)
    return E


def orthonormal(E: np.ndarray) -> np.ndarray:
    """Return combinations v of the columns of W = [X y], (p, p + 1), with v'W'V^-1 W v = 1.

    E is that of `left_of_squares`; the combinations are of X, and orthogonal under V^-1.
    """
    p = len(E) - 1
    return np.column_stack([np.linalg.inv(E[:p, :p]), np.zeros(p)])


@dataclass
class Density:
    """The log density of rows under a model with given parameters."""

    value: float
    log_determinant: float
    """log|I + Z Lambda Lambda' Z'|"""
    modes_a: np.ndarray
    """conditional modes of factor a, given these rows (G, i)"""
    modes_b: np.ndarray
    """conditional modes of factor b (H, j)"""


@dataclass
class _Eliminated:
    """The result of eliminating both factors from the cross-products, at given La and Lb."""

    crossed: Dense | Sparse
    T: np.ndarray
    back: np.ndarray
    MW: np.ndarray
    F: np.ndarray
    R: np.ndarray
    half_b: np.ndarray
    """T_b Z_b'Z_b (H, j, j), for repeated levels of b"""
    log_determinant: float
    """log|P|"""

    left: np.ndarray
    """W'V^-1 W (p + 1, p + 1)"""


def _eliminate(products: Products, La: np.ndarray, Lb: np.ndarray) -> _Eliminated:
    aa, bb, ab, aw, bw = products.aa, products.bb, products.ab, products.aw, products.bw
    G, i, H, j = ab.shape
    p, K = products.ww.shape[0] - 1, H * j
    crossed = ab if isinstance(ab, Sparse) else Dense(ab.reshape(G, i, K), j)

    # P = [A, B; B', D]; A = C C' is block-diagonal. Z_a is eliminated by T = C^-1 Lambda_a', so
    # that Lambda_b, at most K columns wide, enters after the sums over the levels of a.
    T, logs_a = whiten(aa, La)
    back = T.transpose(0, 2, 1)
    MW = T @ aw
    flat_W = MW.reshape(G * i, p + 1)

    # The Schur complement on b: S = Lambda_b'(Z_b'Z_b - Z_b'Z_a T'T Z_a'Z_b) Lambda_b + I = F F'.
    F, R = np.zeros((0, 0)), np.zeros((0, p + 1))
    if K:
        S = np.zeros((K, K), order="F")
        S[_diagonal_blocks(H, j)] = Lb.T @ bb @ Lb + np.eye(j)
        crossed.subtract_gram(S, T, Lb)
        F = _cholesky(S)
        R = _solve(F, _rows(Lb.T, bw.reshape(K, p + 1) - crossed.left(back @ MW)))
    value = 2 * float(logs_a.sum() + np.log(np.diagonal(F)).sum())
    half_b = bb
    if products.times_a is not None:
        # A level that occurs m times: the mean of its copies is one level, scaled by sqrt(m) in the
        # sums; the m - 1 contrasts only affect their own diagonal block of P.
        T_b, logs_b = whiten(bb, Lb)
        half_b = T_b @ bb
        value += 2 * float((products.times_a - 1) @ logs_a + (products.times_b - 1) @ logs_b)
    left = products.ww - flat_W.T @ flat_W - R.T @ R
    return _Eliminated(crossed, T, back, MW, F, R, half_b, value, left)


def _modes(
    by: _Eliminated, weights: np.ndarray, Lb: np.ndarray, H: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the random effects for e = W weights: a (G, i), b (H, j), b's u, Z_a'Z_b b."""
    ub = _solve(by.F, by.R @ weights, transposed=True).reshape(H, len(Lb))
    Lub = ub @ Lb.T
    of_b = by.crossed.dot(Lub.ravel())
    left = by.MW @ weights - (by.T @ of_b[:, :, None])[:, :, 0]
    return (by.back @ left[:, :, None])[:, :, 0], Lub, ub, of_b


def log_density(
    products: Products, La: np.ndarray, Lb: np.ndarray, beta: np.ndarray, sigma: float
) -> Density:
    """Return log N(y; X beta, sigma^2 (I + Z Lambda Lambda' Z')), computed from cross-products.

    The rows may differ from those that beta (p,) and sigma were fitted to. Natural logarithm.
    """
    by, weights = _eliminate(products, La, Lb), np.append(-beta, 1.0)
    r2 = weights @ by.left @ weights
    scale = products.n * np.log(2 * np.pi * sigma**2)
    modes_a, modes_b, _, _ = _modes(by, weights, Lb, len(products.bb))
    if products.times_a is not None:
        modes_a = modes_a / np.sqrt(products.times_a)[:, None]
        modes_b = modes_b / np.sqrt(products.times_b)[:, None]
    value = float(-0.5 * (scale + by.log_determinant + r2 / sigma**2))
    return Density(value, by.log_determinant, modes_a, modes_b)


def solve(
    products: Products, La: np.ndarray, Lb: np.ndarray, t: float = 0.0, sigma: float | None = None
) -> Solution:
    """Solve the penalised least squares at La and Lb (any square roots) and the nested sd t.

    Deviance and gradients are profiled over sigma, or at the given `sigma`. Raises NoResiduals, and
    numpy.linalg.LinAlgError if X is rank-deficient.
    """
    cells = products.cells
    if cells is not None:
        products = _without_cells(products, t)
    aa, bb, aw, bw = products.aa, products.bb, products.aw, products.bw
    G, i, H, j = products.ab.shape
    n, p, K = products.n, products.ww.shape[0] - 1, H * j
    by = _eliminate(products, La, Lb)
    crossed, T, back = by.crossed, by.T, by.back

    # The remainder of W'W belongs to the fixed effects; its corner is r^2.
    E = left_of_squares(by.left, products.ww[p, p])
    r2 = E[p, p] ** 2
    weights = np.ones(p + 1)  # e = W weights
    weights[:p] = -_solve(E[:p, :p], E[p, :p], transposed=True)
    free = n - p if products.reml else n
    variance, precision = (r2 / free, free / r2) if sigma is None else (sigma**2, sigma**-2)
    value = by.log_determinant + r2 / variance + free * np.log(2 * np.pi * variance)

    def effects(v: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return Lambda u and w = Z'V^-1 W v by level, with u = Lambda'w, of a and b; u of b."""
        Lua, Lub, ub, of_b = _modes(by, v, Lb, H)
        wa = aw @ v - (aa @ Lua[:, :, None])[:, :, 0] - of_b
        wb = bw @ v - (bb @ Lub[:, :, None])[:, :, 0]
        wb -= crossed.left(Lua[:, :, None]).reshape(H, j)
        return Lua, Lub, wa, wb, ub

    Lua, Lub, wa, wb, ub = effects(weights)
    ua = wa @ La
    squares = [(precision, weights, Lua, Lub, wa, wb)]
    if products.reml:
        value += 2 * np.log(np.diagonal(E)[:p]).sum()
        squares += [(1.0, v, *effects(v)[:4]) for v in orthonormal(E)]

    # With U = Lambda_b S^-1 Lambda_b', Q = I - Z_a'Z_a T'T and X = Z_a'Z_b U Z_b'Z_a, by level:
    # Z_a'V^-1 Z_a is Q Z_a'Z_a - Q X Q'.
    half_a = T @ aa
    counts = np.ones(G) if products.times_a is None else products.times_a.astype(float)
    by_Sa = np.tensordot(counts, aa, 1) - _gram(counts[:, None, None] * half_a, half_a)
    by_Sb = np.zeros((j, j))
    for share, _, _, _, za, zb in squares:
        by_Sa -= share * za.T @ za
        by_Sb -= share * zb.T @ zb
    X, U = np.zeros((G, i, i)), np.zeros((K, K))
    if K:
        safe = _is_safe(Lb, bb)
        # Unless Lb is all but singular, Z_b'V^-1 Z_b is Lb^-T (I - S^-1) Lb^-1.
        trace_b = None if safe else _trace_of_schur(products, by, Lb)
        if cells is not None:
            U = _rows(Lb, _rows(Lb, _inverse(by.F)).T)
        X, inverse_b = crossed.quadratic(by.F, Lb)
        Q = np.eye(i) - half_a.transpose(0, 2, 1) @ T
        by_Sa -= (Q @ X @ Q.transpose(0, 2, 1)).sum(0)
        if trace_b is None:
            trace_b = np.linalg.solve(Lb.T, np.linalg.solve(Lb.T, H * np.eye(j) - inverse_b).T)
        by_Sb += trace_b
    if products.times_a is not None:
        more_b = products.times_b - 1.0
        more = np.tensordot(more_b, bb, 1) - _gram(more_b[:, None, None] * by.half_b, by.half_b)
        by_Sb += more
        Lua = Lua / np.sqrt(products.times_a)[:, None]
        Lub = Lub / np.sqrt(products.times_b)[:, None]

    by_tt = 0.0
    if cells is not None:
        # Z_c'V^-1 e by pair, and the trace of Z_c'V^-1 Z_c.
        shrunk = 1 + t * t * cells[:, :, 0]
        value += np.log(shrunk).sum()
        sa, sb, sw = np.split(cells[:, :, 1:], [i, i + j], axis=2)
        inside = ((sa @ (back @ (T + T @ X @ back @ T))) * sa).sum(2)
        Ub = U[_diagonal_blocks(H, j)]
        inside += np.einsum("ghj,hjk,ghk->gh", sb, Ub, sb)
        between = (back @ T @ crossed.values @ U).reshape(G, i, H, j)
        inside -= 2 * np.einsum("ghi,gihj,ghj->gh", sa, between, sb)
        by_tt = float((cells[:, :, 0] / shrunk - inside / shrunk**2).sum())
        for share, v, ma, mb, _, _ in squares:
            wc = sw @ v - np.einsum("ghi,gi->gh", sa, ma) - np.einsum("ghj,hj->gh", sb, mb)
            by_tt -= float(share * ((wc / shrunk) ** 2).sum())
    return Solution(
        deviance=value,
        by_La=2 * by_Sa @ La,
        by_Lb=2 * by_Sb @ Lb,
        by_t=2 * t * by_tt,
        by_Sa=by_Sa,
        by_Sb=by_Sb,
        by_tt=by_tt,
        beta=-weights[:p],
        sigma=float(np.sqrt(variance)),
        modes_a=Lua,
        modes_b=Lub,
        root=E[:p, :p],
        penalty=float((ua**2).sum() + (ub**2).sum()),
        squares=float(r2),
    )


def nested_modes(products: Products, solution: Solution, t: float) -> np.ndarray:
    """Return the conditional modes (G, H) of a nested intercept with relative sd t."""
    n, i, j = products.cells[:, :, 0], products.aa.shape[1], products.bb.shape[1]
    sa, sb, sw = np.split(products.cells[:, :, 1:], [i, i + j], axis=2)
    left = sw @ np.append(-solution.beta, 1.0)
    left -= np.einsum("ghi,gi->gh", sa, solution.modes_a)
    left -= np.einsum("ghj,hj->gh", sb, solution.modes_b)
    return t * t / (1 + t * t * n) * left


def _without_cells(products: Products, t: float) -> Products:
    """Eliminate the nested intercept with relative sd t: return the cross-products under V_c^-1."""
    i, j = products.aa.shape[1], products.bb.shape[1]
    n, sums = products.cells[:, :, 0], products.cells[:, :, 1:]
    sa, sb, sw = np.split(sums, [i, i + j], axis=2)
    weighted = (t * t / (1 + t * t * n))[:, :, None] * sums
    by_a = sa.transpose(0, 2, 1) @ weighted
    by_b = sb.transpose(1, 2, 0) @ weighted.transpose(1, 0, 2)
    flat = sw.reshape(-1, sw.shape[2])
    return replace(
        products,
        aa=products.aa - by_a[:, :, :i],
        bb=products.bb - by_b[:, :, i : i + j],
        ab=products.ab
        - (sa[:, :, :, None] * weighted[:, :, None, i : i + j]).transpose(0, 2, 1, 3),
        aw=products.aw - by_a[:, :, i + j :],
        bw=products.bw - by_b[:, :, i + j :],
        ww=products.ww - flat.T @ weighted[:, :, i + j :].reshape(flat.shape),
        cells=None,
    )


def _is_safe(L: np.ndarray, zz: np.ndarray) -> bool:
    """Return whether I - S^-1 keeps its digits when multiplied by the inverse of L (k, k)."""
    information = L.T @ zz.mean(0) @ L
    return bool(np.linalg.eigvalsh(information)[0] > LEAST and np.linalg.cond(L) < SAFE)


def _trace_of_schur(products: Products, by: _Eliminated, Lb: np.ndarray) -> np.ndarray:
    """Return the sum over levels of Z_b'V^-1 Z_b (j, j) for any Lb: D - D Lambda_b S^-1 Lambda_b' D.

    D is Z_b'Z_b - Z_b'Z_a T'T Z_a'Z_b.
    """
    (H, j, _), K = products.bb.shape, len(by.F)
    D = np.zeros((K, K), order="F")
    D[_diagonal_blocks(H, j)] = products.bb
    by.crossed.subtract_gram(D, by.T, np.eye(j))
    D = np.tril(D) + np.tril(D, -1).T
    trace = D[_diagonal_blocks(H, j)].sum(0)
    half = _solve(by.F, _rows(Lb.T, D)).reshape(K, H, j)
    return trace - np.einsum("khj,khl->jl", half, half)


def _diagonal_blocks(levels: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices (levels, k, k) of the diagonal blocks of a matrix (levels k, levels k)."""
    within = np.arange(levels)[:, None, None] * k + np.arange(k)
    return within.transpose(0, 2, 1), within


def _rows(L: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Multiply each level's rows of `values` (levels * k, c) by L (k, k); may overwrite them."""
    if len(L) < 2:
        return np.multiply(L.sum(), values, out=values)
    return (L @ values.reshape(-1, len(L), values.shape[1])).reshape(values.shape)


def _gram(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sum over levels of one'other (k, k)."""
    levels, i, k = one.shape
    return one.reshape(levels * i, k).T @ other.reshape(levels * i, k)


def _cholesky(S: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor of S from its lower triangle, overwriting S."""
    factor, failed = lapack.dpotrf(S, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the Schur complement is not positive definite")
    return factor


def _solve(F: np.ndarray, right: np.ndarray, transposed: bool = False) -> np.ndarray:
    return lapack.dtrtrs(F, right, lower=1, trans=int(transposed))[0] if len(F) else right


def _inverse(F: np.ndarray) -> np.ndarray:
    """Return (F F')^-1 with both triangles."""
    half = lapack.dpotri(F, lower=1)[0]
    half.T.flat[:: len(F) + 1] /= 2
    return half + half.T
