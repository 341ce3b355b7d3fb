"""Profile likelihood: the deviance with a fixed effect or a variance parameter held at a value.

The deviance of a linear mixed model from cross-products, with fixed effects constrained.

c'b = v is imposed by a change of the cross-products: with b_k = (v - sum of the other c_l b_l) /
c_k the columns of X become x_l - x_k c_l / c_k, and y becomes y - x_k v / c_k.

The deviance of a linear mixed model from cross-products, with a variance parameter held fixed.

Coordinates are Cholesky factors C of the random effects' covariances, and log sigma. The effects of the held parameter come first in their block. A held sd is then C_00; with
a held correlation r, the second row is (r c, sqrt(1 - r^2) c) with free length c.

Intervals of a generalised model's parameters, in given units, from lme4 on the internal scale.

lme4 profiles a parameter of the model that it has. A given effect is b = B[r] b_s, a combination of
the internal ones, so that the internal columns are rotated until it is one of them: with Q b_s for
b_s, where the first row of Q is B[r] / |B[r]| and X_s Q^-1 for X_s, b is |B[r]| times the first.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from crosslmm import lme4
from crosslmm.cross_products import Products
from crosslmm.deviance import solve
from crosslmm.fit_formula import generalised_model
from crosslmm.fitting import FIXED, RANDOM, InR, in_r
from crosslmm.internal import Internal, correlation_at_limit, in_given_units
from crosslmm.model_request import Source
from crosslmm.scaled_search import Searched, SearchResult
from crosslmm.several import SeveralProducts, solve_several
from crosslmm.summary import FitSummary
from crosslmm.theta_search import blocks_of, lower_triangle, search, search_several

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


def parameters(source: Source) -> list[Given]:
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


def profile(source: Source, chosen: Sequence[Given], level: float) -> dict[str, list[float]]:
    """Return the limits of profile likelihood intervals."""
    model = generalised_model(source.request, source.prepared)
    limits = {}
    for given in chosen:
        if len(given.rows) == 2:
            rows = source.internal.random[given.term].B[list(given.rows)]
            if (limit := correlation_at_limit(rows)) is not None:
                limits[given.name] = [limit, limit]
                continue
        rotated, factor, name = _rotate(model, given)
        of_r = in_r(rotated)
        fit, _ = of_r.generalised(source.request.family)
        table = lme4.intervals(fit, "profile", level, 0, 0, [name])
        low, high = (factor * value for value in table[name])
        shift = 0.0
        if given.term < 0 and model.scale.mean:
            shift = model.scale.mean * float(model.scale.fixed.constant[given.rows[0]])
        limits[given.name] = [low + shift, high + shift]
    return limits


def bootstrap(source: Source, draws: int, seed: int) -> Iterator[FitSummary]:
    """Simulate responses, with new random effects, and yield the summary of each refit."""
    model = generalised_model(source.request, source.prepared)
    of_r: InR = in_r(model)
    values = lme4.simulated(source.in_r, draws, seed, True)
    for response in values.T:
        figures = of_r.figures(lme4.refitted(source.in_r, response))
        yield in_given_units(model.scale, figures, model.groups, rows=len(response))


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


def _rotate(model: Internal, given: Given) -> tuple[Internal, float, str]:
    """Return the model with a parameter of its own, its factor, and its name in R."""
    predictors: dict[str, Any] = dict(model.predictors)
    if given.term < 0:
        kept = list(model.scale.fixed.kept)
        B = model.scale.fixed.B[np.ix_(kept, kept)]
        rows = B[[kept.index(given.rows[0])]]
        names = [f"rotated{c}" for c in range(len(kept))]
        predictors |= dict(zip(names, _columns(model.X(), rows), strict=True))
        formula = replace(model.formula, fixed=tuple(names))
        return replace(model, formula=formula, predictors=predictors), _size(rows)[0], f"{FIXED}0"
    rows = model.scale.random[given.term].B[list(given.rows)]
    names = [f"rotated{c}" for c in range(rows.shape[1])]
    predictors |= dict(zip(names, _columns(model.Z()[given.term], rows), strict=True))
    random = list(model.formula.random)
    random[given.term] = replace(random[given.term], columns=tuple(names))
    rotated = replace(
        model, formula=replace(model.formula, random=tuple(random)), predictors=predictors
    )
    first, group = f"{RANDOM}{given.term}.0", _name(model.scale.groups[given.term])
    if len(given.rows) == 1:
        return rotated, _size(rows)[0], f"sd_{first}|{group}"
    return rotated, 1.0, f"cor_{RANDOM}{given.term}.1.{first}|{group}"


def _size(rows: np.ndarray) -> list[float]:
    return np.sqrt((rows**2).sum(1)).tolist()


def _columns(columns: list[np.ndarray], rows: np.ndarray) -> list[np.ndarray]:
    """Return columns (n,) whose first effects are proportional to `rows` (r, k) of the given ones."""
    k, r = rows.shape[1], len(rows)
    unit = rows / np.array(_size(rows))[:, None]
    others = np.linalg.svd(unit)[2][r:]
    Q = np.vstack([unit, others]) if r < k else unit
    return list((np.column_stack(columns) @ np.linalg.inv(Q)).T)
