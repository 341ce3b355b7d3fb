"""Denominator degrees of freedom of fixed effects, by Satterthwaite and by Kenward and Roger.

Both need second derivatives of the (restricted) likelihood by the covariance parameters tau: the
free elements of each factor's relative covariance Sigma = L L' and the residual variance, 1. With
G_r = d V / d tau_r, P = V^-1 - V^-1 X (X'V^-1 X)^-1 X'V^-1 and e = y - X b, they are made of

    T_rs = tr(P G_r P G_s),    B_rs = W'V^-1 G_r P G_s V^-1 W,    S_r = W'V^-1 G_r V^-1 W,

where W has the columns of X, orthonormal under V^-1, and e / sigma. The observed information is
-T + 2 B[e, e] (Satterthwaite; V^-1 for P in T of an ML fit), the expected one T (Kenward and Roger
1997, whose Q_rs - P_r Phi P_s is the part of B_rs that belongs to X). G_r of a random effect is
Z D_r Z', so that Z'PZ suffices, as block-diagonal matrices minus products of few columns. The
residual's G is the identity, V - sum_r tau_r G_r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from crosslmm.cross_products import Products, Sparse
from crosslmm.deviance import left_of_squares, orthonormal
from crosslmm.factors import NotSearchable
from crosslmm.internal import Internal
from crosslmm.scaled_search import products_at
from crosslmm.several import ELEMENTS, SeveralProducts, scaled_columns

METHODS = ("Satterthwaite", "Kenward-Roger")
FLAT = 1e-8
"""Eigenvalues of the information below this are treated as 0, as by lmerTest."""
SAME = 1e-8
"""Difference of degrees of freedom below which they are the same, as in lmerTest."""


@dataclass(frozen=True)
class Inference:
    """Tests of linear combinations of the fixed effects, on the internal scale.

    Attributes
    ----------
    covariance : ndarray
        Of the estimates (p, p), adjusted by Kenward and Roger's method.
    """

    method: str
    covariance: np.ndarray
    _half: np.ndarray
    """takes a combination of the columns of X to one of the orthonormal columns (p, p)"""
    _by_parameter: np.ndarray
    """derivatives of the estimates' covariance by each parameter (r, p, p), in orthonormal columns"""
    _parameters: np.ndarray
    """covariance of the parameters (r, r)"""

    def df(self, combination: np.ndarray) -> float:
        """Return the degrees of freedom of the t test of a combination (p,)."""
        v = self._half @ combination
        change = np.einsum("rpq,p,q->r", self._by_parameter, v, v)
        with np.errstate(divide="ignore"):
            return float(2 * (v @ v) ** 2 / (change @ self._parameters @ change))

    def joint(self, combinations: np.ndarray, estimates: np.ndarray) -> tuple[float, float, int]:
        """Return F, its denominator's degrees of freedom, and the number of combinations (q, p).

        Combinations that depend on others do not count.
        """
        left, sizes, basis = np.linalg.svd(combinations @ self._half.T, full_matrices=False)
        q = int((sizes > 1e-7 * sizes[0]).sum())
        turn = (left[:, :q] / sizes[:q]).T
        combinations, estimates, basis = turn @ combinations, turn @ estimates, basis[:q]
        F = float(
            estimates @ np.linalg.solve(combinations @ self.covariance @ combinations.T, estimates)
        )
        if self.method == "Kenward-Roger":
            df, scale = self._kenward_roger(basis)
            return scale * F / q, df, q
        return F / q, _pooled([self.df(one) for one in combinations]), q

    def _kenward_roger(self, basis: np.ndarray) -> tuple[float, float]:
        """Return the degrees of freedom and the factor of F; `basis` (q, p) is orthonormal."""
        q = len(basis)
        changes = basis @ self._by_parameter @ basis.T
        traces = np.trace(changes, axis1=1, axis2=2)
        A1 = traces @ self._parameters @ traces
        A2 = np.einsum("rs,rpq,sqp->", self._parameters, changes, changes)
        B = (A1 + 6 * A2) / (2 * q)
        g = ((q + 1) * A1 - (q + 4) * A2) / ((q + 2) * A2)
        c = np.array([g, q - g, q + 2 - g]) / (3 * q + 2 * (1 - g))
        V0, V1, V2 = 1 + c[0] * B, 1 - c[1] * B, 1 - c[2] * B
        ratio = (1 - A2 / q) / V1 if abs(V1) > 1e-14 or abs(1 - A2 / q) > 1e-14 else 1.0
        rho = ratio**2 * (0.0 if abs(V0) < 1e-10 else V0) / V2 / q
        df = 4 + (q + 2) / (q * rho - 1)
        return float(df), 1.0 if abs(df - 2) < 0.01 else float(df * (1 - A2 / q) / (df - 2))


def _pooled(df: Sequence[float]) -> float:
    """Return the degrees of freedom of an F test from those of its independent t tests."""
    nu = np.array(df)
    if np.ptp(nu) < SAME or len(nu) == 1:
        return float(nu.mean())
    if (nu <= 2).any():
        return 2.0
    expected = float((nu / (nu - 2)).sum())
    return 2 * expected / (expected - len(nu))


def infer(model: Internal, Ls: Sequence[np.ndarray], sigma: float, method: str) -> Inference:
    """Return the tests of a fit with L (k, k) of each random term, and residual sd `sigma`.

    Raises NotSearchable if cross-products do not cover the model.
    """
    products, roots, free = products_at(model, Ls)
    if isinstance(products, Products):
        products, roots, free = _merge_factors(products, roots, free)
    moments = _Moments(products, roots, free, sigma)
    p = len(products.ww) - 1
    half, S = moments.half, moments.S[:, :p, :p]
    if method == "Kenward-Roger":
        values, vectors = np.linalg.eigh(moments.T)
        W = 2 * (vectors * np.where(np.abs(values) > 1e-10, 1 / values, 0.0)) @ vectors.T
        adjusted = np.eye(p) + 2 * np.einsum("rs,rspq->pq", W, moments.B[:, :, :p, :p])
        return Inference(method, sigma**2 * half.T @ adjusted @ half, half, S, W)
    values, vectors = np.linalg.eigh(moments.hessian())
    inverse = np.where(values > FLAT, 1 / np.where(values > FLAT, values, 1.0), 0.0)
    A = 2 * (vectors * inverse) @ vectors.T
    J = moments.J
    return Inference(method, sigma**2 * half.T @ half, half, S, J @ A @ J.T)


def _merge_factors(
    products: Products, roots: list[np.ndarray], free: list[np.ndarray]
) -> tuple[SeveralProducts, list[np.ndarray], list[np.ndarray]]:
    """Return the cross-products of one or two factors, and of their pairs, in the general form."""
    G, i, H, j = products.ab.shape
    if G * i * H * j > ELEMENTS:
        raise NotSearchable(f"{G:,} x {H:,} levels are too many for degrees of freedom")
    ab = products.ab.whole() if isinstance(products.ab, Sparse) else products.ab
    common = {"n": products.n, "ww": products.ww, "reml": products.reml}
    q, flat_b = len(products.ww), products.bw.reshape(H * j, len(products.ww))
    if products.cells is None:
        rr = block_diag(*products.bb) if j else np.zeros((0, 0))
        ar, shapes = ab.reshape(G, i, H * j), ((H, j),) if j else ()
        several = SeveralProducts(
            aa=products.aa, ar=ar, rr=rr, aw=products.aw, rw=flat_b, shapes=shapes, **common
        )
        return several, roots[: 1 + len(shapes)], free[: 1 + len(shapes)]
    a, b = np.nonzero(products.cells[:, :, 0] > 0)
    if len(a) * (G * i + H * j) > ELEMENTS:
        raise NotSearchable(f"{len(a):,} pairs of levels are too many for degrees of freedom")
    sums, rows = products.cells[a, b], np.arange(len(a))[:, None]
    ar = np.zeros((len(a), 1, G * i + H * j))
    ar[rows, 0, a[:, None] * i + np.arange(i)] = sums[:, 1 : 1 + i]
    ar[rows, 0, G * i + b[:, None] * j + np.arange(j)] = sums[:, 1 + i : 1 + i + j]
    flat = ab.reshape(G * i, H * j)
    blocks = [
        block_diag(*part) if part.size else np.zeros((0, 0)) for part in (products.aa, products.bb)
    ]
    several = SeveralProducts(
        aa=sums[:, :1, None],
        ar=ar,
        rr=np.block([[blocks[0], flat], [flat.T, blocks[1]]]),
        aw=sums[:, None, -q:],
        rw=np.concatenate([products.aw.reshape(G * i, len(products.ww)), flat_b]),
        shapes=((G, i), (H, j)),
        **common,
    )
    order = [2, 0, 1]
    return several, [roots[f] for f in order], [free[f] for f in order]


class _Moments:
    """T (r, r), B (r, r, p + 1, p + 1) and S (r, p + 1, p + 1); the residual variance is last."""

    def __init__(
        self,
        products: SeveralProducts,
        Ls: Sequence[np.ndarray],
        free: Sequence[np.ndarray],
        sigma: float,
    ) -> None:
        self.Ls = Ls
        (G, i, m), p, La = products.ar.shape, len(products.ww) - 1, Ls[0]
        rest = list(zip(products.parts(), Ls[1:], strict=True))
        T = np.linalg.inv(np.linalg.cholesky(La.T @ products.aa @ La + np.eye(i))) @ La.T
        half = T @ products.aa
        turned = half.transpose(0, 2, 1)
        aa, Q = products.aa - turned @ half, np.eye(i) - turned @ T
        M, MW = (T @ products.ar).reshape(G * i, m), (T @ products.aw).reshape(G * i, p + 1)
        rr, rw = products.rr - M.T @ M, products.rw - M.T @ MW
        ar, aw = (Q @ products.ar).reshape(G * i, m), (Q @ products.aw).reshape(G * i, p + 1)
        F = np.linalg.cholesky(scaled_columns(scaled_columns(rr, rest).T.copy(), rest) + np.eye(m))

        def half_of(values: np.ndarray) -> np.ndarray:
            """Return F^-1 Lambda_r' values (m, c)."""
            return (
                solve_triangular(F, scaled_columns(values.T, rest).T, lower=True) if m else values
            )

        # Z_a'V^-1 Z_a is aa - U U', Z_a'V^-1 Z_r is ar - U H, and Z_r'V^-1 Z_r is rr - H'H.
        H, U, KW = half_of(rr), half_of(ar.T).T, half_of(rw)
        E = left_of_squares(products.ww - MW.T @ MW - KW.T @ KW, products.ww[p, p])
        weights = np.append(-np.linalg.solve(E[:p, :p].T, E[p, :p]), 1.0)
        self.half = np.linalg.inv(E[:p, :p])
        columns = np.vstack([orthonormal(E), weights / sigma]).T
        za, zr = (aw - U @ KW) @ columns, (rw - H.T @ KW) @ columns
        U, H = np.hstack([U, za[:, :p]]), np.vstack([H, zr[:, :p].T])

        # The parameters of each factor: symmetric matrices E_r (r, k, k) and their places.
        self.places = [(f, c, d) for f, of in enumerate(free) for c, d in np.argwhere(np.tril(of))]
        number, tau = len(self.places), []
        by_factor = [
            [r for r, place in enumerate(self.places) if place[0] == f] for f in range(len(Ls))
        ]
        units = []
        for f, L in enumerate(Ls):
            matrices = np.zeros((len(by_factor[f]), *L.shape))
            for unit, r in zip(matrices, by_factor[f], strict=True):
                _, c, d = self.places[r]
                unit[c, d] = unit[d, c] = 1.0
                tau.append((L @ L.T)[c, d])
            units.append(matrices)
        self.tau = np.array(tau)
        parts = products.parts()
        q = p + 1
        z = [za.reshape(G, i, q), *(zr[s].reshape(-1, len(L), q) for s, L in rest)]
        S = np.concatenate(
            [
                np.einsum("gcp,rcd,gdq->rpq", of, unit, of, optimize=True)
                for of, unit in zip(z, units, strict=True)
            ]
        )

        # G_r V^-1 W by random effect, and P times it.
        va, vr = np.zeros((G * i, number, q)), np.zeros((m, number, q))
        va[:, by_factor[0]] = np.einsum("rcd,gdq->gcrq", units[0], z[0]).reshape(G * i, -1, q)
        for (s, _), of, unit, index in zip(rest, z[1:], units[1:], by_factor[1:], strict=True):
            vr[s, index] = np.einsum("rcd,gdq->gcrq", unit, of).reshape(s.stop - s.start, -1, q)
        va, vr = va.reshape(G * i, -1), vr.reshape(m, number * q)
        Nar, Nrr = ar - U @ H, rr - H.T @ H
        Pa = (aa @ va.reshape(G, i, -1)).reshape(va.shape) - U @ (U.T @ va) + Nar @ vr
        B = va.T @ Pa + vr.T @ (Nar.T @ va + Nrr @ vr)
        B = B.reshape(number, q, number, q).transpose(0, 2, 1, 3)
        free_rows = products.n - p
        if not products.reml:
            U, H, free_rows = U[:, :m], H[:m], products.n
            Nar, Nrr = ar - U @ H, rr - H.T @ H

        # Traces by pairs of factors, from sums of products of blocks of Z'PZ.
        t, traces = np.zeros(number), np.zeros((number, number))
        diagonal = [np.einsum("gcd->cd", aa) - np.einsum("gcm,gdm->cd", *[U.reshape(G, i, -1)] * 2)]
        for s, L in rest:
            k = len(L)
            diagonal.append(
                np.einsum("gcgd->cd", Nrr[s, s].reshape(-1, k, (s.stop - s.start) // k, k))
            )
        for f, (unit, index) in enumerate(zip(units, by_factor, strict=True)):
            t[index] = np.einsum("rcd,cd->r", unit, diagonal[f])
            for h in range(f, len(Ls)):
                if f == h == 0:
                    sums = _low_rank_sums(aa, U.reshape(G, i, -1))
                else:
                    rows = Nar if f == 0 else Nrr[parts[f - 1]]
                    sums = _block_sums(rows[:, parts[h - 1]], len(Ls[f]), len(Ls[h]))
                between = np.einsum("rcd,sek,deck->rs", unit, units[h], sums)
                traces[np.ix_(index, by_factor[h])] = between
                traces[np.ix_(by_factor[h], index)] = between.T
        self._add_residual(S, B, t, traces, free_rows, float(E[p, p] / sigma) ** 2)

    def _add_residual(
        self, S: np.ndarray, B: np.ndarray, t: np.ndarray, T: np.ndarray, trace: int, squares: float
    ) -> None:
        """Append the residual variance, whose G is V minus the others; `squares` is e'V^-1 e."""
        tau, number, q = self.tau, len(t), B.shape[2]
        whole = np.eye(q)
        whole[-1, -1] = squares
        self.S = np.concatenate([S, (whole - np.tensordot(tau, S, 1))[None]])
        self.t = np.append(t, trace - tau @ t)
        self.T = np.zeros((number + 1,) * 2)
        self.T[:number, :number] = T
        self.T[:number, number] = self.T[number, :number] = t - T @ tau
        self.T[number, number] = self.t[number] - tau @ self.T[:number, number]
        # P X is 0 and P e is V^-1 e.
        last = np.zeros((q, q))
        last[-1, -1] = 1.0
        self.B = np.zeros((number + 1, number + 1, q, q))
        self.B[:number, :number] = B
        self.B[:number, number] = S @ last - np.tensordot(B, tau, (1, 0))
        self.B[number, :number] = self.B[:number, number].transpose(0, 2, 1)
        self.B[number, number] = last @ self.S[number] - np.tensordot(
            tau, self.B[:number, number], 1
        )

    @property
    def J(self) -> np.ndarray:
        """Derivatives of the parameters (r) by the elements of each L and the residual variance."""
        J = np.zeros((len(self.places) + 1,) * 2)
        for column, (f, a, b) in enumerate(self.places):
            change = np.zeros_like(self.Ls[f])
            change[a] += self.Ls[f][:, b]
            change = change + change.T
            for row, (factor, c, d) in enumerate(self.places):
                if factor == f:
                    J[row, column] = change[c, d]
        J[:, -1] = np.append(self.tau, 1.0)
        return J

    def hessian(self) -> np.ndarray:
        """Return the deviance's second derivatives by the elements of each L and the variance."""
        H = self.J.T @ (2 * self.B[:, :, -1, -1] - self.T) @ self.J
        gradient = dict(zip(self.places, self.t[:-1] - self.S[:-1, -1, -1], strict=True))
        for one, (f, a, b) in enumerate(self.places):
            for other, (factor, c, d) in enumerate(self.places):
                if (factor, d) == (f, b):
                    H[one, other] += (1 + (a == c)) * gradient[f, max(a, c), min(a, c)]
        return H


def _block_sums(values: np.ndarray, k: int, other: int) -> np.ndarray:
    """Return the sums over blocks N (k, l) of N[c, e] N[d, f], as (c, e, d, f)."""
    blocks = values.reshape(len(values) // k, k, -1, other).transpose(0, 2, 1, 3)
    flat = blocks.reshape(-1, k * other)
    return (flat.T @ flat).reshape(k, other, k, other)


def _low_rank_sums(aa: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Return `_block_sums` of the block-diagonal matrix of `aa` (G, i, i) minus U U'."""
    i = aa.shape[1]
    UU = U @ U.transpose(0, 2, 1)
    sums = _outer(aa, aa) - _outer(aa, UU) - _outer(UU, aa)
    A = np.array([[U[:, c].T @ U[:, d] for d in range(i)] for c in range(i)])
    flat = A.reshape(i * i, -1)
    return sums + (flat @ flat.T).reshape(i, i, i, i).transpose(1, 3, 0, 2)


def _outer(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    i = one.shape[1]
    return (one.reshape(len(one), -1).T @ other.reshape(len(one), -1)).reshape(i, i, i, i)
