"""The deviance of a mixed model on cross-products, with its gradient.

With Lambda the block-diagonal matrix of the L_f, P = Lambda'Z'Z Lambda + I and r^2 the penalised
residual sum of squares at the best b,

    deviance = log|P| + n (1 + log(2 pi r^2 / n)),

-2 log-likelihood profiled over b and sigma (Bates et al. 2015, eq. 34 and following). Factor a is
eliminated first (its part of P is block-diagonal), so that what is factored is the Schur
complement on factor b. With V = I + Z Lambda Lambda'Z', e = y - X b, u the spherical random effects
(P u = Lambda'Z'e) and w = Z'V^-1 e = Z'e - Z'Z Lambda u, the gradient is

    d deviance / d L_f = 2 sum_g (Z'Z Lambda P^-1)_gg - 2 (n / r^2) sum_g w_g u_g',

the sums running over the levels g of f.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, lapack, solve_triangular

from mixed_model.cross_products import Products


def deviance(
    products: Products, La: np.ndarray, Lb: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the deviance and its gradients by La (i, i) and Lb (j, j), both lower triangular.

    Raises numpy.linalg.LinAlgError where X is short of full rank or the residuals vanish.
    """
    aa, bb, ab, aw, bw = products.aa, products.bb, products.ab, products.aw, products.bw
    G, i, H, j = ab.shape
    n, p, K = products.n, products.ww.shape[0] - 1, H * j

    # P = [A, B; B', D]; A = C C' is block-diagonal. M = C^-1 [B, Lambda_a' Z_a'W].
    C = np.linalg.cholesky(La.T @ aa @ La + np.eye(i))
    inverse_C = np.linalg.inv(C)
    ab_Lb = (ab.reshape(G * i * H, j) @ Lb).reshape(G, i, K)
    T = inverse_C @ La.T
    M = T @ ab_Lb
    MW = T @ aw
    flat, flat_W = M.reshape(G * i, K), MW.reshape(G * i, p + 1)

    # The Schur complement on b, S = D - B'A^-1 B = F F'.
    S = -(flat.T @ flat)
    levels = np.arange(H)
    S.reshape(H, j, H, j)[levels, :, levels, :] += Lb.T @ bb @ Lb + np.eye(j)
    F = _cholesky(S)
    R = _solve(F, (Lb.T @ bw).reshape(K, p + 1) - flat.T @ flat_W)

    # What is left of W'W belongs to the fixed effects; its corner is r^2.
    E = np.linalg.cholesky(products.ww - flat_W.T @ flat_W - R.T @ R)
    r2 = E[p, p] ** 2
    weights = np.append(-solve_triangular(E[:p, :p].T, E[p, :p], lower=False), 1.0)  # e = W weights
    log_determinant = 2 * (
        np.log(np.diagonal(C, axis1=1, axis2=2)).sum() + np.log(np.diagonal(F)).sum()
    )
    value = log_determinant + n * (1 + np.log(2 * np.pi * r2 / n))

    # Spherical random effects u and w = Z'V^-1 e, by level.
    ub = _solve(F, R @ weights, transposed=True)
    ua = (MW @ weights) - M @ ub
    ua = np.einsum("gba,gb->ga", inverse_C, ua)
    Lua, Lub = ua @ La.T, ub.reshape(H, j) @ Lb.T
    cross = ab.reshape(G * i, K)
    wa = aw @ weights - np.einsum("gab,gb->ga", aa, Lua) - (cross @ Lub.ravel()).reshape(G, i)
    wb = bw @ weights - np.einsum("hab,hb->ha", bb, Lub) - (cross.T @ Lua.ravel()).reshape(H, j)

    # Blocks of P^-1: ab is -J with J = A^-1 B S^-1, aa is A^-1 + J B'A^-1, bb is S^-1.
    inverse_S = _inverse(F)
    AB = inverse_C.transpose(0, 2, 1) @ M
    J = (AB.reshape(G * i, K) @ inverse_S).reshape(G, i, K)
    inverse_aa = inverse_C.transpose(0, 2, 1) @ inverse_C + J @ AB.transpose(0, 2, 1)
    trace_a = (aa @ La @ inverse_aa).sum(0) - np.tensordot(ab_Lb, J, ([0, 2], [0, 2]))
    La_ab = (La.T @ ab.reshape(G, i, K)).reshape(G * i * H, j)
    inverse_bb = inverse_S.reshape(H, j, H, j)[levels, :, levels, :]
    trace_b = (bb @ Lb @ inverse_bb).sum(0) - La_ab.T @ J.reshape(G * i * H, j)

    slope = 2 * n / r2
    return (
        value,
        2 * trace_a - slope * wa.T @ ua,
        2 * trace_b - slope * wb.T @ ub.reshape(H, j),
    )


def _cholesky(S: np.ndarray) -> np.ndarray:
    return cholesky(S, lower=True, check_finite=False) if len(S) else S


def _solve(F: np.ndarray, right: np.ndarray, transposed: bool = False) -> np.ndarray:
    if not len(F):
        return right
    return solve_triangular(F, right, lower=True, trans=int(transposed), check_finite=False)


def _inverse(F: np.ndarray) -> np.ndarray:
    """Return (F F')^-1, both triangles filled."""
    if not len(F):
        return F
    inverse, _ = lapack.dpotri(F, lower=1)
    inverse = np.tril(inverse)
    return inverse + np.tril(inverse, -1).T
