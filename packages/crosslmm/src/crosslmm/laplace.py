"""Laplace's approximation of a mixed model's log-likelihood, for any density and crossed factors.

Row i has linear predictors eta_ik = x_ik'beta_k + z_ik'Lambda u, with u ~ N(0, I) and Lambda
block-diagonal: the levels of a grouping factor share a lower triangular L. A factor's effects may
enter several predictors, such as location and scale. With g and -W the gradient and Hessian of
log p(y_i) by eta_i and u at its mode,

    log L = sum_i log p(y_i | u) - u'u / 2 - log|P| / 2,    P = Lambda'Z'W Z Lambda + I.

This is exact if log p is quadratic in eta (Gaussian, sigma without random effects). P is factored
by eliminating the factor with the most columns, whose part is block-diagonal; the rest is dense.

The gradient of log L is analytic except for dW / d eta, which is a central difference of W.

Random effects of grouping factors in several linear predictors, and P = Lambda'Z'W Z Lambda + I.

Lambda is block-diagonal: the levels of a grouping factor share a lower triangular L. P is factored
by eliminating the factor with the most effects, whose part is block-diagonal; the rest is dense.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.special import logsumexp


@dataclass(frozen=True)
class Grouping:
    """A grouping factor: its level of each row, and the columns of its effects."""

    codes: np.ndarray
    """level of each row (n,)"""
    levels: int
    Z: np.ndarray
    """columns (n, c)"""
    predictor: np.ndarray
    """index (c,) of the linear predictor that each column enters"""
    free: np.ndarray
    """true where an element of L is free (c, c), lower triangular"""

    @property
    def size(self) -> int:
        """Number of random effects."""
        return self.levels * self.Z.shape[1]


@dataclass
class Factored:
    """P = [A, B; B', D]: Cholesky factors of A and of D - B'A^-1 B."""

    inverse_C: np.ndarray
    """inverse of A's Cholesky factors (G, c, c)"""
    M: np.ndarray
    """C^-1 B (G, c, m)"""
    F: np.ndarray
    """lower Cholesky factor (m, m)"""
    log_determinant: float

    def solve(self, first: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return P^-1 times a vector given by its parts (G, c) and (m,)."""
        t = np.einsum("gij,gj->gi", self.inverse_C, first)
        rest = rest - np.einsum("gim,gi->m", self.M, t)
        rest = cho_solve((self.F, True), rest) if len(rest) else rest
        t = t - self.M @ rest
        return np.einsum("gji,gj->gi", self.inverse_C, t), rest


class GroupedEffects:
    """The random effects of a model with n rows and K linear predictors.

    Parameters
    ----------
    groupings
        Grouping factors, at least one.
    rows, predictors
        n and K.
    """

    def __init__(self, groupings: Sequence[Grouping], rows: int, predictors: int) -> None:
        self.shape = rows, predictors
        self.order = sorted(range(len(groupings)), key=lambda f: -groupings[f].size)
        self.first, *self.rest = (groupings[f] for f in self.order)
        ends = np.cumsum([0, *(grouping.size for grouping in self.rest)])
        self.slices = [slice(*pair) for pair in itertools.pairwise(ends)]
        self.m = int(ends[-1])
        self.places = [
            ends[f] + g.codes[:, None] * g.Z.shape[1] + np.arange(g.Z.shape[1])
            for f, g in enumerate(self.rest)
        ]

    def product(self, first: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return Z b (n, K) for effects b of the first factor (G, c) and of the rest (m,)."""
        total = np.zeros(self.shape)
        for grouping, effects in self.with_effects(first, rest):
            for c, k in enumerate(grouping.predictor):
                total[:, k] += grouping.Z[:, c] * effects[grouping.codes, c]
        return total

    def with_effects(
        self, first: np.ndarray, rest: np.ndarray
    ) -> Iterator[tuple[Grouping, np.ndarray]]:
        """Yield each factor, the eliminated one first, with its effects (levels, c)."""
        yield self.first, first
        for grouping, where in zip(self.rest, self.slices, strict=True):
            yield grouping, rest[where].reshape(grouping.levels, -1)

    def sums(self, v: np.ndarray) -> list[np.ndarray]:
        """Return Z'v by level (levels, c) of each factor, the eliminated one first; v is (n, K)."""
        return [
            np.stack(
                [
                    np.bincount(g.codes, g.Z[:, c] * v[:, k], g.levels)
                    for c, k in enumerate(g.predictor)
                ],
                axis=1,
            )
            for g in (self.first, *self.rest)
        ]

    def scaled(self, sums: Sequence[np.ndarray], Ls: Sequence[np.ndarray]):
        """Return Lambda' times sums by level: for the first factor (G, c), for the rest (m,)."""
        parts = [part @ L for part, L in zip(sums, Ls, strict=True)]
        return parts[0], np.concatenate([part.ravel() for part in parts[1:]] or [np.zeros(0)])

    def effects(self, u_first: np.ndarray, u_rest: np.ndarray, Ls: Sequence[np.ndarray]):
        """Return Lambda u for the first factor (G, c) and for the rest (m,)."""
        rest = [
            (u_rest[where].reshape(g.levels, -1) @ L.T).ravel()
            for g, where, L in zip(self.rest, self.slices, Ls[1:], strict=True)
        ]
        return u_first @ Ls[0].T, np.concatenate(rest or [np.zeros(0)])

    def _cross(self, left: Grouping, right: Grouping, W: np.ndarray) -> np.ndarray:
        """Return Z_left'W Z_right (levels, c, levels, c) of two factors."""
        H = right.levels
        cell = left.codes * H + right.codes
        shape = left.levels, left.Z.shape[1], H, right.Z.shape[1]
        total = np.empty(shape)
        for c, k in enumerate(left.predictor):
            weighted = left.Z[:, c]
            for d, other in enumerate(right.predictor):
                values = weighted * right.Z[:, d] * W[:, k, other]
                total[:, c, :, d] = np.bincount(cell, values, left.levels * H).reshape(-1, H)
        return total

    def _within(self, grouping: Grouping, W: np.ndarray) -> np.ndarray:
        """Return Z'W Z of each level (levels, c, c)."""
        c = grouping.Z.shape[1]
        total = np.empty((grouping.levels, c, c))
        for i, k in enumerate(grouping.predictor):
            for j, other in enumerate(grouping.predictor[: i + 1]):
                values = grouping.Z[:, i] * grouping.Z[:, j] * W[:, k, other]
                total[:, i, j] = total[:, j, i] = np.bincount(
                    grouping.codes, values, grouping.levels
                )
        return total

    def factor(self, W: np.ndarray, Ls: Sequence[np.ndarray]) -> Factored:
        """Factor P; raise LinAlgError if it is not positive definite."""
        L, c = Ls[0], self.first.Z.shape[1]
        A = L.T @ self._within(self.first, W) @ L + np.eye(c)
        C = np.linalg.cholesky(A)
        inverse_C = np.linalg.inv(C)
        logs = np.log(np.diagonal(C, axis1=1, axis2=2)).sum()
        B = np.empty((self.first.levels, c, self.m))
        D = np.eye(self.m)
        for f, (g, where, of) in enumerate(zip(self.rest, self.slices, Ls[1:], strict=True)):
            cross = np.einsum(
                "gchd,ci,dj->gihj", self._cross(self.first, g, W), L, of, optimize=True
            )
            B[:, :, where] = cross.reshape(self.first.levels, c, -1)
            within = of.T @ self._within(g, W) @ of
            view = D[where, where].reshape(g.levels, len(of), g.levels, len(of))
            levels = np.arange(g.levels)
            view[levels, :, levels, :] += within
            D[where, where] = view.reshape(g.size, g.size)
            for other, at, its in zip(self.rest[:f], self.slices[:f], Ls[1:], strict=False):
                block = np.einsum(
                    "gchd,ci,dj->gihj", self._cross(g, other, W), of, its, optimize=True
                )
                D[where, at] = block.reshape(g.size, other.size)
                D[at, where] = D[where, at].T
        M = inverse_C @ B
        flat = M.reshape(M.shape[0] * M.shape[1], self.m)
        F = cholesky(D - flat.T @ flat, lower=True) if self.m else np.zeros((0, 0))
        logs += np.log(np.diagonal(F)).sum()
        return Factored(inverse_C, M, F, 2 * float(logs))


STEPS = 100
"""Largest number of Newton steps to the mode."""
DECREMENT = 1e-18
"""The mode is reached when a step is expected to gain less than this per row, in log-likelihood."""
DIFFERENCE = 1e-4
"""Step of the central differences, in units of 1 / sqrt(|W|)."""
NODE_DIFFERENCE = 1e-4
"""Step of the differences of a log-likelihood by quadrature, on the internal scale."""
ROWS = 65_536
"""Number of rows whose leverages are computed at once."""


class NoMode(np.linalg.LinAlgError):
    """The random effects have no mode at these parameters."""


@dataclass
class Mode:
    """The model at given parameters: the mode of u, and the log-likelihood."""

    loglik: float
    u_first: np.ndarray
    """spherical effects of the eliminated factor (G, c)"""
    u_rest: np.ndarray
    """spherical effects of the other factors (m,)"""
    eta: np.ndarray
    """linear predictors (n, K), without the link"""


class Laplace:
    """A model's data, whose log-likelihood is approximated at any parameters.

    Parameters
    ----------
    density
        A module of `crosslmm.densities`.
    link
        Link of the location: identity or log.
    y
        Response (n,).
    X
        Fixed columns of each linear predictor, K of (n, p_k).
    groupings
        Grouping factors, at least one.
    offset
        Fixed part (n, K) that is added to the linear predictors.
    weights
        Factors (n,) of the rows' log densities.
    """

    def __init__(
        self,
        density: ModuleType,
        link: str,
        y: np.ndarray,
        X: Sequence[np.ndarray],
        groupings: Sequence[Grouping],
        offset: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        self.weights = np.ones(len(y)) if weights is None else weights
        self.density, self.link, self.y, self.X = density, link, y, list(X)
        self.offset = np.zeros((len(y), len(self.X))) if offset is None else offset
        self.z = GroupedEffects(groupings, len(y), len(self.X))
        self._warm: tuple[np.ndarray, np.ndarray] | None = None

    # Parameters are one vector: all beta_k, then the free elements of each L in the given order.

    def unpack(self, parameters: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the beta_k and the L of each factor, in the given order."""
        betas, Ls, start = [], [], 0
        for X in self.X:
            betas.append(parameters[start : start + X.shape[1]])
            start += X.shape[1]
        groupings: list[Grouping | None] = [None] * len(self.z.order)
        for index, grouping in zip(self.z.order, (self.z.first, *self.z.rest), strict=True):
            groupings[index] = grouping
        for grouping in groupings:
            L = np.zeros(grouping.free.shape)
            free = int(grouping.free.sum())
            L[grouping.free] = parameters[start : start + free]
            Ls.append(L)
            start += free
        return betas, Ls

    def log_density(self, eta: np.ndarray) -> np.ndarray:
        """Return log p(y) (n,) at linear predictors (n, K); -inf if the location is invalid."""
        return self.weights * log_density(self.density, self.link, self.y, eta)

    def derivatives(self, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient (n, K) and W (n, K, K), minus the Hessian, by linear predictors."""
        located = apply_inverse_link(self.link, eta)
        gradient, hessian = self.density.derivatives(self.y, located)
        if self.link == "log":
            mu = located[:, 0]
            hessian[:, 0, :] *= mu[:, None]
            hessian[:, :, 0] *= mu[:, None]
            gradient[:, 0] *= mu
            hessian[:, 0, 0] += gradient[:, 0]
        return gradient * self.weights[:, None], -hessian * self.weights[:, None, None]

    def fixed(self, betas: Sequence[np.ndarray]) -> np.ndarray:
        """Return the fixed parts (n, K) of the linear predictors."""
        parts = [X @ beta for X, beta in zip(self.X, betas, strict=True)]
        return np.column_stack(parts) + self.offset

    def mode(self, parameters: np.ndarray) -> Mode:
        """Return the mode of u and the log-likelihood there.

        Raises
        ------
        NoMode
            If no mode is reached, or P is not positive definite at it.
        """
        return self._at(parameters)[0]

    def _at(self, parameters: np.ndarray) -> tuple[Mode, np.ndarray, np.ndarray, Factored]:
        betas, given = self.unpack(parameters)
        Ls, fixed = [given[f] for f in self.z.order], self.fixed(betas)
        if self._warm is None:
            self._warm = np.zeros((self.z.first.levels, len(Ls[0]))), np.zeros(self.z.m)
        u_first, u_rest = self._warm
        eta = fixed + self.z.product(*self.z.effects(u_first, u_rest, Ls))
        value = self._penalised(eta, u_first, u_rest)
        if not np.isfinite(value):
            u_first, u_rest = np.zeros_like(u_first), np.zeros_like(u_rest)
            eta = fixed
            value = self._penalised(eta, u_first, u_rest)
        if not np.isfinite(value):
            raise NoMode("the log-density is not finite")
        for _ in range(STEPS):
            gradient, W = self.derivatives(eta)
            try:
                factored, is_observed = self.z.factor(W, Ls), True
            except np.linalg.LinAlgError:
                factored, is_observed = self.z.factor(_positive(W), Ls), False
            down_first, down_rest = self.z.scaled(self.z.sums(gradient), Ls)
            down_first, down_rest = down_first - u_first, down_rest - u_rest
            step_first, step_rest = factored.solve(down_first, down_rest)
            decrement = (step_first * down_first).sum() + step_rest @ down_rest
            if decrement < DECREMENT * len(self.y) and is_observed:
                break
            shift = self.z.product(*self.z.effects(step_first, step_rest, Ls))
            size = 1.0
            for _ in range(30):
                there = eta + size * shift
                u = u_first + size * step_first, u_rest + size * step_rest
                new = self._penalised(there, *u)
                if new >= value - 1e-12 * abs(value):
                    break
                size /= 2
            else:
                raise NoMode("no step towards the mode of the random effects raises the density")
            eta, value, (u_first, u_rest) = there, new, u
        else:
            raise NoMode("the mode of the random effects was not reached")
        self._warm = u_first, u_rest
        mode = Mode(value - factored.log_determinant / 2, u_first, u_rest, eta)
        return mode, gradient, W, factored

    def _penalised(self, eta: np.ndarray, u_first: np.ndarray, u_rest: np.ndarray) -> float:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value = self.log_density(eta).sum()
        return float(value - ((u_first**2).sum() + u_rest @ u_rest) / 2)

    def value(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-likelihood and its gradient by the parameters."""
        mode, gradient, W, factored = self._at(parameters)
        _, given = self.unpack(parameters)
        Ls = [given[f] for f in self.z.order]
        leverage, products = self._leverages(factored, W, Ls)
        # q_m = sum_kl T_kl dW_kl / d eta_m, by central differences.
        q = np.empty_like(mode.eta)
        for k in range(q.shape[1]):
            step = DIFFERENCE / np.sqrt(np.mean(np.abs(W[:, k, k])) + np.finfo(float).tiny)
            up, down = mode.eta.copy(), mode.eta.copy()
            up[:, k] += step
            down[:, k] -= step
            change = (self.derivatives(up)[1] - self.derivatives(down)[1]) / (2 * step)
            q[:, k] = np.einsum("nkl,nkl->n", leverage, change)
        s = factored.solve(*self.z.scaled(self.z.sums(q / 2), Ls))
        d = self.z.product(*self.z.effects(*s, Ls))
        v = gradient - q / 2 + np.einsum("nkl,nk->nl", W, d)
        by_beta = [X.T @ v[:, k] for k, X in enumerate(self.X)]
        by_L: list[np.ndarray] = [np.zeros(0)] * len(self.z.order)
        sums_v, sums_g = self.z.sums(v), self.z.sums(gradient)
        u = self.z.with_effects(mode.u_first, mode.u_rest)
        adjoint = self.z.with_effects(*s)
        for f, ((g, effects), (_, of_s)) in enumerate(zip(u, adjoint, strict=True)):
            total = sums_v[f].T @ effects - products[f] - sums_g[f].T @ of_s
            by_L[self.z.order[f]] = total[g.free]
        return mode.loglik, np.concatenate([*by_beta, *by_L])

    def _leverages(
        self, factored: Factored, W: np.ndarray, Ls: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return T_kl = z_k'Lambda P^-1 Lambda'z_l (n, K, K), and each factor's Z'W Z Lambda P^-1.

        The latter are sums (c, c) of the diagonal blocks over levels.
        """
        n, K = self.y.shape[0], len(self.X)
        inverse = cho_solve((factored.F, True), np.eye(self.z.m)) if self.z.m else np.zeros((0, 0))
        N = np.einsum("gji,gjm->gim", factored.inverse_C, factored.M)
        across = -N @ inverse
        within = np.einsum("gji,gjk->gik", factored.inverse_C, factored.inverse_C)
        within = within - across @ N.transpose(0, 2, 1)
        T = np.zeros((n, K, K))
        products = [np.zeros_like(L) for L in Ls]
        groupings = (self.z.first, *self.z.rest)
        masks = [np.eye(K)[:, g.predictor] for g in groupings]
        for start in range(0, n, ROWS):
            rows = slice(start, start + ROWS)
            first = self.z.first.codes[rows]
            columns = [m[None] * g.Z[rows, None, :] for m, g in zip(masks, groupings, strict=True)]
            scaled = [z @ L for z, L in zip(columns, Ls, strict=True)]
            places = [p[rows] for p in self.z.places]
            for f in range(len(groupings)):
                Y = 0.0
                for other in range(len(groupings)):
                    if f == other == 0:
                        block = within[first]
                    elif f == 0:
                        block = across[first[:, None], :, places[other - 1]]
                    elif other == 0:
                        block = across[first[:, None], :, places[f - 1]].transpose(0, 2, 1)
                    else:
                        block = inverse[places[other - 1][:, :, None], places[f - 1][:, None, :]]
                    Y = Y + scaled[other] @ block
                T[rows] += Y @ scaled[f].transpose(0, 2, 1)
                weighted = np.einsum("nkl,nld->nkd", W[rows], Y, optimize=True)
                products[f] += np.einsum("nkc,nkd->cd", columns[f], weighted, optimize=True)
        return T, products

    def effects(self, parameters: np.ndarray, mode: Mode) -> list[np.ndarray]:
        """Return the conditional modes (levels, c) of each factor, in the given order."""
        _, given = self.unpack(parameters)
        Ls = [given[f] for f in self.z.order]
        parts = self.z.with_effects(*self.z.effects(mode.u_first, mode.u_rest, Ls))
        return [
            effects
            for _, (_, effects) in sorted(
                zip(self.z.order, parts, strict=True), key=lambda pair: pair[0]
            )
        ]

    def covariance(self, parameters: np.ndarray) -> np.ndarray:
        """Return the covariance of all beta (p, p) given L, from the curvature in u and beta."""
        _, _, W, factored = self._at(parameters)
        _, given = self.unpack(parameters)
        Ls = [given[f] for f in self.z.order]
        columns = [(k, x) for k, X in enumerate(self.X) for x in X.T]
        p = len(columns)
        information = np.empty((p, p))
        crossed = []
        for k, x in columns:
            weighted = W[:, :, k] * x[:, None]
            crossed.append(self.z.scaled(self.z.sums(weighted), Ls))
            information[:, len(crossed) - 1] = [weighted[:, j] @ z for j, z in columns]
        for j, right in enumerate(crossed):
            first, rest = factored.solve(*right)
            for i, left in enumerate(crossed):
                information[i, j] -= (left[0] * first).sum() + left[1] @ rest
        return np.linalg.inv((information + information.T) / 2)


class Quadrature(Laplace):
    """A model with one random effect, integrated by adaptive Gauss-Hermite quadrature.

    Its nodes are those of each level's mode and curvature, as lme4's are; `points` is their number, and
    1 is Laplace's approximation.
    """

    points = 1

    def mode(self, parameters: np.ndarray) -> Mode:
        """Return the mode of u, and the log-likelihood by quadrature."""
        mode, _, _, factored = self._at(parameters)
        nodes, weights = np.polynomial.hermite.hermgauss(self.points)
        spread = np.sqrt(2) * factored.inverse_C[:, :, 0]
        logs = np.empty((len(spread), self.points))
        (L,), first = self.unpack(parameters)[1], self.z.first
        for k, node in enumerate(nodes):
            u = mode.u_first + node * spread
            shift = self.z.product((u - mode.u_first) @ L.T, mode.u_rest)
            given = np.bincount(first.codes, self.log_density(mode.eta + shift), first.levels)
            logs[:, k] = given - u[:, 0] ** 2 / 2 + node**2 + np.log(weights[k])
        by_level = logsumexp(logs, axis=1) + np.log(spread[:, 0])
        loglik = float(by_level.sum()) - first.levels * np.log(2 * np.pi) / 2
        return replace(mode, loglik=loglik)

    def value(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-likelihood and its gradient, by central differences."""
        if self.points == 1:
            return super().value(parameters)
        moves = NODE_DIFFERENCE * np.eye(len(parameters))
        ends = [[self.mode(parameters + sign * move).loglik for sign in (1, -1)] for move in moves]
        return self.mode(parameters).loglik, -np.diff(ends)[:, 0] / (2 * NODE_DIFFERENCE)


def apply_inverse_link(link: str, eta: np.ndarray) -> np.ndarray:
    """Return linear predictors (n, K) with the location on the response's scale."""
    if link == "identity":
        return eta
    return np.column_stack([np.exp(eta[:, 0]), eta[:, 1:]])


def log_density(density: ModuleType, link: str, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return log p(y) (n,) at linear predictors (n, K); -inf if the location is invalid."""
    located = apply_inverse_link(link, eta)
    if not density.POSITIVE:
        return density.log_density(y, located)
    invalid = located[:, 0] <= 0
    located = np.where(invalid[:, None], 1.0, located)
    return np.where(invalid, -np.inf, density.log_density(y, located))


def _positive(W: np.ndarray) -> np.ndarray:
    """Return W (n, K, K) with the absolute values of its eigenvalues."""
    values, vectors = np.linalg.eigh(W)
    return (vectors * np.abs(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
