"""Profile likelihood: the deviance with a fixed effect or a variance parameter held at a value.

The deviance of a linear mixed model from cross-products, with fixed effects constrained.

c'b = v is imposed by a change of the cross-products: with b_k = (v - sum of the other c_l b_l) /
c_k the columns of X become x_l - x_k c_l / c_k, and y becomes y - x_k v / c_k.

The deviance of a linear mixed model from cross-products, with a variance parameter held fixed.

Coordinates are Cholesky factors C of the random effects' covariances, and log sigma. The effects of the held parameter come first in their block. A held sd is then C_00; with
a held correlation r, the second row is (r c, sqrt(1 - r^2) c) with free length c.

Generalised models, by Laplace's approximation. A given effect is b = B[r] b_s, a combination of the
internal ones, so that the internal columns are rotated until it is one of them: with Q b_s for b_s,
where the first row of Q is B[r] / |B[r]| and X_s Q^-1 for X_s, b is |B[r]| times the first.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import minimize

from crosslmm.cross_products import Products
from crosslmm.deviance import solve
from crosslmm.fit_formula import internal_of
from crosslmm.formula import Formula
from crosslmm.generalised import LaplaceModel, maximise, start_at
from crosslmm.laplace import Laplace, Quadrature
from crosslmm.model_request import Source
from crosslmm.scaled_search import Searched, SearchResult
from crosslmm.several import SeveralProducts, solve_several
from crosslmm.summary import FitSummary
from crosslmm.theta_search import blocks_of, lower_triangle, search, search_several, triangle

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


GRADIENT = 1e-3
"""Largest element of the gradient at the end of a search, per rough standard error."""
EDGE = 0.1
"""Smallest starting diagonal element, in rough standard errors, since 0 is a stationary point."""


@dataclass(frozen=True)
class Held:
    """A variance parameter: sigma (no indices), an sd (one index), or a correlation (two)."""

    factor: int = -1
    places: tuple[int, ...] = ()


@dataclass
class _Block:
    """A block of correlated effects of a factor, as indices, the held ones first."""

    factor: int
    places: np.ndarray
    cut: slice
    """the block's elements among all coordinates"""
    held: int
    """number of effects of the held parameter in this block: 0, 1 (an sd) or 2 (a correlation)"""

    def root(self, x: np.ndarray, value: float) -> np.ndarray:
        """Return C (k, k)."""
        C = np.zeros((len(self.places),) * 2)
        C[lower_triangle(len(C))] = x[self.cut]
        if self.held == 1:
            C[0, 0] = value
        elif self.held == 2:
            c = C[1, 1]
            C[1, 0], C[1, 1] = value * c, math.sqrt(max(1 - value**2, 0)) * c
        return C

    def gradient(self, by_C: np.ndarray, value: float) -> np.ndarray:
        """Return the gradient by the coordinates from that by C (k, k); 0 for held ones."""
        if self.held == 1:
            by_C[0, 0] = 0
        elif self.held == 2:
            by_C[1, 1] = value * by_C[1, 0] + math.sqrt(max(1 - value**2, 0)) * by_C[1, 1]
            by_C[1, 0] = 0
        return by_C[lower_triangle(len(by_C))]


class HeldVariance:
    """The deviance of a searched model as a function of one of its variance parameters.

    Parameters
    ----------
    searched
        The model at its optimum.
    held
        The parameter; its indices are those of the factor's columns.
    """

    def __init__(self, searched: Searched, held: Held) -> None:
        result = searched.result
        self._result, self._held = result, held
        A = [np.eye(len(a)) for a in searched.A]
        A += [np.zeros((0, 0))] * (2 - len(A))
        free = [factor.free for factor in result.factors]
        free += [np.zeros((0, 0), dtype=bool)] * (2 - len(free))
        if result.nested:
            A.append(np.eye(1))
            free.append(np.ones((1, 1), dtype=bool))
        for block in blocks_of(free):
            if block.factor == held.factor < len(searched.A) and held.places[0] in block.places:
                _hold(A[held.factor], searched.A[held.factor], list(block.places), held.places)
        self._inverse_A = [np.linalg.inv(a) for a in A]
        self._blocks: list[_Block] = []
        sigma, start, scales = result.solution.sigma, [], []
        for block in blocks_of(free):
            f, places = block.factor, list(block.places)
            first = list(held.places) if f == held.factor and held.places[0] in places else []
            order = [*first, *(index for index in places if index not in first)]
            end = len(start) + len(order) * (len(order) + 1) // 2
            self._blocks.append(_Block(f, np.array(order), slice(len(start), end), len(first)))
            half = sigma * (A[f] @ result.roots[f])[order]
            zz = self._inverse_A[f].T @ _information(result, f) @ self._inverse_A[f]
            sd = np.sqrt((half**2).sum(1))
            unaided = sigma / np.sqrt(np.maximum(np.diagonal(zz)[order], 1e-300))
            rough = np.maximum(sd, unaided) / math.sqrt(2 * _levels(result, f))
            C = np.linalg.qr(half.T, mode="r").T
            C = np.where(np.diagonal(C) < 0, -1.0, 1.0) * C
            diagonal = np.diag_indices(len(C))
            C[diagonal] = np.maximum(C[diagonal], EDGE * rough)
            if len(first) == 2:
                C[1, 1] = math.hypot(C[1, 0], C[1, 1])
            start += list(C[lower_triangle(len(C))])
            scales += list(rough[lower_triangle(len(C))[0]])
        self._scales = np.array([*scales, 1 / math.sqrt(2 * result.products.n)])
        self._start = np.array([*start, math.log(sigma)])

    def deviance(
        self, value: float, start: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
        """Return the minimal deviance, with the coordinates and inverse Hessian at the minimum.

        `start` are the coordinates and inverse Hessian for a nearby value.
        """
        x, inverse = start or (self._start, np.eye(len(self._start)) / 2)

        def objective(steps: np.ndarray) -> tuple[float, np.ndarray]:
            try:
                deviance, gradient = self.at(x + steps * self._scales, value)
            except np.linalg.LinAlgError:
                return math.inf, np.zeros(len(x))
            return deviance, gradient * self._scales

        options = {"gtol": GRADIENT, "hess_inv0": inverse}
        with np.errstate(all="ignore"):
            result = minimize(objective, np.zeros(len(x)), jac=True, method="BFGS", options=options)
        inverse = (result.hess_inv + result.hess_inv.T) / 2
        return float(result.fun), (x + result.x * self._scales, inverse)

    def at(self, x: np.ndarray, value: float) -> tuple[float, np.ndarray]:
        """Return the deviance and its gradient at coordinates (q,), with the held value `value`."""
        is_sigma = not self._held.places
        sigma = value if is_sigma else math.exp(x[-1])
        roots = [block.root(x, value) for block in self._blocks]
        Ls = [np.zeros_like(a) for a in self._inverse_A]
        for block, C in zip(self._blocks, roots, strict=True):
            Ls[block.factor][np.ix_(block.places, block.places)] = C / sigma
        scaled = [a @ L for a, L in zip(self._inverse_A, Ls, strict=True)]
        deviance, squares, by_S = _solve_factor(self._result, scaled, sigma)
        # sigma also changes the relative covariances Omega / sigma^2.
        within = sum(float(np.sum(S * (L @ L.T))) for S, L in zip(by_S, scaled, strict=True))
        by_sigma = 2 * self._result.products.n - 2 * squares / sigma**2 - 2 * within
        gradient = np.zeros(len(x))
        gradient[-1] = 0.0 if is_sigma else by_sigma
        for block, C in zip(self._blocks, roots, strict=True):
            a = self._inverse_A[block.factor]
            by_covariance = a.T @ by_S[block.factor] @ a / sigma**2
            by_C = 2 * by_covariance[np.ix_(block.places, block.places)] @ C
            gradient[block.cut] = block.gradient(by_C, value)
        return deviance, gradient


def _hold(coordinates: np.ndarray, A: np.ndarray, block: list[int], held: Sequence[int]) -> None:
    """Replace a block of `coordinates` (k, k) by the held effects' rows of A and their complement.

    The given effects themselves are no coordinates for columns far from zero, as A is then all but
    singular.
    """
    rows = A[np.ix_(list(held), block)]
    unit = rows / np.sqrt((rows**2).sum(1))[:, None]
    others = np.linalg.svd(unit)[2][len(held) :]
    coordinates[np.ix_(list(held), block)] = rows
    left = [place for place in block if place not in held]
    coordinates[np.ix_(left, block)] = others


def _solve_factor(
    result: SearchResult, roots: Sequence[np.ndarray], sigma: float
) -> tuple[float, float, list[np.ndarray]]:
    """Return deviance, penalised squares, and the gradient by each factor's relative covariance."""
    if isinstance(result.products, SeveralProducts):
        solution = solve_several(result.products, roots, sigma)
        return solution.deviance, solution.squares, solution.by_S
    t = roots[2].item() if result.nested else 0.0
    solution = solve(result.products, roots[0], roots[1], t, sigma)
    by_S = [solution.by_Sa, solution.by_Sb]
    if result.nested:
        by_S.append(np.array([[solution.by_tt]]))
    return solution.deviance, solution.squares, by_S


def _levels(result: SearchResult, factor: int) -> int:
    if isinstance(result.products, SeveralProducts):
        return len(result.products.zz()[factor])
    if factor == 2:
        return int((result.products.cells[:, :, 0] > 0).sum())
    return len(result.products.aa if factor == 0 else result.products.bb)


def _information(result: SearchResult, factor: int) -> np.ndarray:
    """Return the mean of Z'Z (k, k) over the levels of a factor."""
    if isinstance(result.products, SeveralProducts):
        return result.products.zz()[factor].mean(0)
    if factor == 2:
        cells = result.products.cells[:, :, 0]
        return np.array([[cells[cells > 0].mean()]])
    return (result.products.aa if factor == 0 else result.products.bb).mean(0)


@dataclass(frozen=True)
class Given:
    """A parameter in given units: a fixed effect, or an sd or correlation of a random term."""

    name: str
    rows: tuple[int, ...]
    """indices of a fixed effect's column, or of one or two of a random term's"""
    term: int = -1


def given_parameters(source: Source) -> list[Given]:
    """Return the parameters in lme4's order, named as there."""
    scale, every = source.internal, []
    numbers = {group: n for n, group in enumerate(source.result.summary.random)}
    order = sorted(range(len(scale.groups)), key=lambda t: numbers[_name(scale.groups[t])])
    for t in order:
        columns, group = scale.random[t].columns, _name(scale.groups[t])
        for r, name in enumerate(columns):
            every.append(Given(f"sd_{name}|{group}", (r,), t))
            every += [
                Given(f"cor_{columns[q]}.{name}|{group}", (r, q), t)
                for q in range(r + 1, len(columns))
            ]
    return every + [Given(scale.fixed.columns[c], (c,)) for c in source.result.figures.kept]


def value_of(given: Given, source: Source, summary: FitSummary) -> float:
    """Return a parameter's estimate."""
    if given.term < 0:
        return summary.fixed.get(given.name, np.nan)
    scale = source.internal
    group = scale.groups[given.term]
    before = [
        b for g, b in zip(scale.groups[: given.term], scale.random, strict=False) if g == group
    ]
    start = sum(len(basis.columns) for basis in before)
    spread = summary.random[_name(group)]
    if len(given.rows) == 1:
        return spread["sd"][start + given.rows[0]]
    return float(spread["correlation"][start + given.rows[0], start + given.rows[1]])


def _name(group: str) -> str:
    return group.replace("`", "")


class HeldLaplace:
    """A generalised model with one parameter held, in units in which it is one of the search's.

    The columns of its fixed effects, or of its random term, are rotated so that the first ones have
    effects proportional to the parameter's.
    """

    def __init__(self, source: Source, given: Given) -> None:
        figures, scale = source.result.figures, source.internal
        beta, Ls = figures.beta, list(figures.Ls)
        internal = internal_of(source.prepared)
        kept = list(figures.kept)
        X, Z = internal.X(), internal.Z()
        X = [X[scale.fixed.kept.index(c)] for c in kept]
        self.unit, self.shift = 1.0, 0.0
        if given.term < 0:
            rows = scale.fixed.B[np.ix_([given.rows[0]], kept)]
            Q = _rotation(rows)
            X, beta = list((np.column_stack(X) @ np.linalg.inv(Q)).T), Q @ beta
            self.shift = (
                scale.mean * float(scale.fixed.constant[given.rows[0]]) if scale.mean else 0.0
            )
        else:
            rows = scale.random[given.term].B[list(given.rows)]
            Q = _rotation(rows)
            Z[given.term] = list((np.column_stack(Z[given.term]) @ np.linalg.inv(Q)).T)
            Ls[given.term] = triangle(Q @ Ls[given.term])
        if len(given.rows) == 1:
            self.unit = float(np.sqrt((rows**2).sum()))
        columns = {f"fixed{n}": values for n, values in enumerate(X)}
        terms, of_group = [], {}
        for t, (term, of_term) in enumerate(zip(internal.formula.random, Z, strict=True)):
            names = tuple(f"random{t}.{n}" for n in range(len(of_term)))
            columns |= dict(zip(names, of_term, strict=True))
            terms.append(replace(term, columns=names))
            of_group.setdefault(term.group, []).append(t)
        formula = Formula("y", tuple(columns)[: len(X)], tuple(terms))
        request = source.request
        model = LaplaceModel(
            *(request.family, "identity", formula, columns, internal.y, internal.groups),
            *(source.prepared.weights, internal.offset, request.quadrature),
        )
        L_of = {group: block_diag(*(Ls[t] for t in of)) for group, of in of_group.items()}
        by_group = dict(zip(model.terms, model.groupings, strict=True))
        start, scales = start_at(model.laplace, beta, 1.0, by_group, L_of)
        if isinstance(model.laplace, Quadrature):
            model.laplace.points = request.quadrature
        self._laplace, self._scales = model.laplace, scales
        place = 0
        if given.term >= 0:
            place, group = len(beta), terms[given.term].group
            for name, grouping in by_group.items():
                if name == group:
                    break
                place += int(grouping.free.sum())
            before = of_group[group][: of_group[group].index(given.term)]
            first = sum(len(Ls[t]) for t in before)
            place += int(grouping.free[:first].sum())
        self._place, self._is_correlation = place + (len(given.rows) == 2), len(given.rows) == 2
        best, _, _ = maximise(model.laplace, start, scales)
        self._best, self._most = best, model.laplace.mode(best).loglik
        self.estimate = best[self._place]
        self.error, self.bounds = scales[self._place], (-math.inf, math.inf)
        if self._is_correlation:
            length = math.hypot(best[self._place], best[self._place + 1])
            self.estimate = best[self._place] / length if length else 0.0
            self.error, self.bounds = 0.3, (-1.0, 1.0)
        elif given.term >= 0:
            self.estimate, self.bounds = abs(self.estimate), (0.0, math.inf)

    def rise_on(self) -> Callable[[float], float]:
        """Return the root of the deviance's rise at a value, searched from the previous optimum."""
        best = self._best.copy()

        def rise(value: float) -> float:
            nonlocal best
            base, M = np.zeros(len(best)), np.delete(np.eye(len(best)), self._place, axis=1)
            if self._is_correlation:  # L_10 is a multiple of L_11
                edge = min(max(value, -1 + 1e-9), 1 - 1e-9)
                M[self._place] = edge / math.sqrt(1 - edge**2) * M[self._place + 1]
            else:
                base[self._place] = value
            free = np.arange(len(best)) != self._place
            there, _, _ = maximise(_Affine(self._laplace, base, M), best[free], self._scales[free])
            best = base + M @ there
            return math.sqrt(max(2 * (self._most - self._laplace.mode(best).loglik), 0.0))

        return rise


class _Affine:
    """A log-likelihood at parameters base + M z."""

    def __init__(self, laplace: Laplace, base: np.ndarray, M: np.ndarray) -> None:
        self._laplace, self._base, self._M = laplace, base, M

    def value(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-likelihood and its gradient by z."""
        value, gradient = self._laplace.value(self._base + self._M @ z)
        return value, gradient @ self._M


def _rotation(rows: np.ndarray) -> np.ndarray:
    """Return a matrix (k, k) whose first rows are `rows` (r, k) at unit length, and others orthogonal."""
    unit = rows / np.sqrt((rows**2).sum(1))[:, None]
    return np.vstack([unit, np.linalg.svd(unit)[2][len(rows) :]])
