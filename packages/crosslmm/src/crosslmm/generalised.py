"""Mixed models of events, counts, skewed or heteroscedastic responses, by Laplace's approximation.

The location has the formula's fixed and random effects, and the log of sigma, if the density has one,
those of the formula's `scale`, an intercept by default. Any number of crossed or nested grouping
factors is supported; with one random effect, adaptive Gauss-Hermite quadrature is, too.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from crosslmm import families
from crosslmm.deviance import NoResiduals
from crosslmm.factors import Levels, NotSearchable, joined
from crosslmm.fitting import fit_least_squares
from crosslmm.formula import INTERCEPT, Formula, column
from crosslmm.internal import as_given
from crosslmm.laplace import Grouping, Laplace, NoMode, Quadrature
from crosslmm.scaled_search import search_internal
from crosslmm.summary import FitSummary

TOLERANCE = 1e-5
"""A fit has converged if a step could increase the log-likelihood by no more than this."""
GRADIENT = 3e-5
"""Largest element of the gradient at the end of a search, per rough standard error."""
STEPS = 500
SINGULAR = 1e-4
"""A fit is singular if a random effect's conditional sd is below this share of its sd."""
EFFECTS = 12_000
"""Largest number of random effects outside the largest grouping factor; P needs memory for more."""
SMALLEST_SD = 0.05
"""Smallest starting sd of a random effect, as a share of the residual sd; an sd of exactly 0 is a
stationary point of the likelihood by the elements of L."""
HESSIAN_STEP = 3e-3
"""Step of the gradient's differences, in rough standard errors."""
NEWTON = 3
"""Number of steps of iterated least squares without random effects, from which a search starts."""
SCALE_SD = 0.1
"""Starting standard deviation of effects on the log of sigma."""


class Likelihood(Protocol):
    """A log-likelihood with its gradient."""

    def value(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return both at parameters (q,)."""


@dataclass
class Generalised:
    """A model fitted by Laplace's approximation.

    Attributes
    ----------
    location, scale
        Summaries of the two linear predictors; `loglik` and `sigma` are those of the model. A density
        without scale parameters has no `scale`.
    others
        Estimates of further scale parameters, as logarithms: `beta` of the ex-Gaussian.
    evaluations
        Number of evaluations of the log-likelihood.
    gain
        Expected gain in log-likelihood of one more step.
    """

    location: FitSummary
    scale: FitSummary | None
    others: dict[str, float]
    evaluations: int
    gain: float


def fit_generalised(
    name: str,
    link: str,
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None = None,
    offset: np.ndarray | None = None,
    points: int = 1,
) -> Generalised:
    """Fit by maximum likelihood, with random effects integrated out by Laplace's approximation.

    Parameters
    ----------
    name, link
        A module of `crosslmm.densities`, and one of its links.
    formula
        Its terms are columns of `predictors`; its `scale` has the terms of the log of sigma.
    predictors
        Columns (n,) by name, centred and scaled.
    y
        Response (n,).
    groups
        Grouping variables.
    weights, offset
        (n,), of densities without scale parameters.
    points
        Number of quadrature points for each level; with 1, Laplace's approximation.

    Raises
    ------
    NotSearchable
        If there is no random effect, or too many for memory or for quadrature.
    NoMode
        If the likelihood has no finite value.
    """
    model = LaplaceModel(name, link, formula, predictors, y, groups, weights, offset, points)
    laplace, fixed, terms = model.laplace, model.fixed, model.terms
    start, scales = model.start()
    best, gain, evaluations = maximise(laplace, start, scales)
    if isinstance(laplace, Quadrature):  # from the optimum of Laplace's approximation
        laplace.points = points
        best, gain, evaluations = maximise(laplace, best, scales)
    covariance = laplace.covariance(best)
    betas, factors = laplace.unpack(best)
    if not model.has_scale:
        best, gain, covariance = _with_curvature(laplace, best, covariance, _is_singular(factors))
        betas, factors = laplace.unpack(best)
    mode = laplace.mode(best)
    loglik = mode.loglik if model.has_scale else mode.loglik + model.log_constant()
    summaries: list[FitSummary] = []
    for k in range(len(fixed)):
        first = sum(map(len, betas[:k]))
        chosen = slice(first, first + len(betas[k]))
        summaries.append(
            FitSummary(
                fixed=dict(zip(fixed[k], betas[k].tolist(), strict=True)),
                se=np.sqrt(np.diagonal(covariance))[chosen].tolist(),
                theta=[],
                sigma=math.exp(betas[1][0]) if model.has_scale else 1.0,
                loglik=loglik,
                singular=_is_singular(factors),
                random={},
                modes={},
                messages=[],
                converged=gain <= TOLERANCE,
                covariance=covariance[chosen, chosen],
            )
        )
    summaries[0].theta = np.concatenate(
        [L[grouping.free] for L, grouping in zip(factors, model.groupings, strict=True)]
    ).tolist()
    effects = laplace.effects(best, mode)
    for group, grouping, L, values in zip(terms, model.groupings, factors, effects, strict=True):
        names = [c for _, block in terms[group] for c in block]
        for k in np.unique(grouping.predictor):
            chosen = np.flatnonzero(grouping.predictor == k)
            columns = [names[c] for c in chosen]
            spread = _spread(columns, L[np.ix_(chosen, chosen)])
            summaries[k].random[group] = spread
            levels = joined(group, groups).names
            summaries[k].modes[group] = dict(zip(levels, values[:, chosen].tolist(), strict=True))
    others = dict(zip(model.others, (float(beta[0]) for beta in betas[2:]), strict=True))
    return Generalised(summaries[0], (*summaries, None)[1], others, evaluations, gain)


class LaplaceModel:
    """The log-likelihood of a formula, with its columns by name; see `fit_generalised`."""

    def __init__(
        self,
        name: str,
        link: str,
        formula: Formula,
        predictors: Mapping[str, np.ndarray],
        y: np.ndarray,
        groups: Mapping[str, Levels],
        weights: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        points: int = 1,
    ) -> None:
        density, n = families.density(name), len(y)
        self.has_scale = len(density.PREDICTORS) > 1
        scale = formula.scale or Formula(formula.response, (INTERCEPT,), ())
        self.formulas = (replace(formula, scale=None), scale)[: 1 + self.has_scale]
        self.terms = _terms(self.formulas)
        self.groupings = [
            _grouping(self.terms[group], predictors, joined(group, groups)) for group in self.terms
        ]
        _check_size(self.groupings)
        self.fixed = [_drop_dependent(part, predictors, y) for part in self.formulas]
        X = [np.column_stack([column(c, predictors, n) for c in names]) for names in self.fixed]
        self.others = density.PREDICTORS[2:]
        X += [np.ones((n, 1)) for _ in self.others]
        if points > 1 and (len(self.groupings) > 1 or self.groupings[0].Z.shape[1] > 1):
            raise NotSearchable("quadrature needs a single random effect, such as '(1 | subject)'")
        added = None if offset is None else offset[:, None]
        kind = Quadrature if points > 1 else Laplace
        self.laplace = kind(density, link, y, X, self.groupings, added, weights)
        self._given = predictors, groups

    def log_constant(self) -> float:
        """Return the part of the log-likelihood that depends on no parameter."""
        return self.laplace.density.log_constant(self.laplace.y, self.laplace.weights)

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return starting values of the parameters, and their rough standard errors."""
        predictors, groups = self._given
        model, W = self.laplace, None
        y = model.y
        if model.link == "log":
            y = np.log(np.maximum(y, np.finfo(float).tiny))
        elif not self.has_scale:
            y, W = _working_response(model)
        location, sigma, Ls = _gaussian(self.formulas[0], predictors, y, groups, W)
        by_group = dict(zip(self.terms, self.groupings, strict=True))
        sigma = sigma if W is None else 1 / math.sqrt(W.mean())
        return start_at(model, location, sigma, by_group, Ls)


Blocks = list[tuple[int, tuple[str, ...]]]
"""Correlated columns of a group, each block with the index of its linear predictor."""


def _terms(formulas: Sequence[Formula]) -> dict[str, Blocks]:
    """Return the random terms by group."""
    terms: dict[str, Blocks] = {}
    for k, formula in enumerate(formulas):
        for term in formula.random:
            blocks = [term.columns] if term.correlated else [(c,) for c in term.columns]
            terms.setdefault(term.group, []).extend((k, block) for block in blocks)
    if not terms:
        raise NotSearchable("the model has no random effect")
    return terms


def _grouping(blocks: Blocks, predictors: Mapping[str, np.ndarray], levels: Levels) -> Grouping:
    columns = [column(c, predictors, len(levels.codes)) for _, block in blocks for c in block]
    predictor = [k for k, block in blocks for _ in block]
    free, start = np.zeros((len(columns),) * 2, dtype=bool), 0
    for _, block in blocks:
        part = slice(start, start + len(block))
        free[part, part] = np.tril(np.ones((len(block),) * 2, dtype=bool))
        start = part.stop
    Z = np.column_stack(columns)
    return Grouping(levels.codes, len(levels.names), Z, np.array(predictor), free)


def _check_size(groupings: Sequence[Grouping]) -> None:
    sizes = sorted(grouping.size for grouping in groupings)
    if sum(sizes[:-1]) > EFFECTS:
        raise NotSearchable(
            f"{sum(sizes[:-1]):,} random effects outside the largest grouping factor are more than "
            f"{EFFECTS:,}"
        )


def _drop_dependent(
    formula: Formula, predictors: Mapping[str, np.ndarray], y: np.ndarray
) -> tuple[str, ...]:
    """Return the fixed columns that are not linearly dependent on earlier ones."""
    summary, _ = fit_least_squares(formula, predictors, y)
    return tuple(summary.fixed)


def _working_response(model: Laplace) -> tuple[np.ndarray, np.ndarray]:
    """Return the working response (n,), minus the offset, and weights (n,) of least squares."""
    X, offset = model.X[0], model.offset
    eta = model.density.linked(model.y)[:, None]
    for step in range(NEWTON):
        gradient, W = model.derivatives(eta)
        w = np.maximum(W[:, 0, 0], 1e-8)
        z = (eta + gradient / w[:, None] - offset)[:, 0]
        if step < NEWTON - 1:
            root = np.sqrt(w)
            beta = np.linalg.lstsq(X * root[:, None], z * root, rcond=None)[0]
            eta = (X @ beta)[:, None] + offset
    return z, w


def _gaussian(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    weights: np.ndarray | None,
) -> tuple[np.ndarray, float, dict[str, np.ndarray]]:
    """Return beta, sigma and each group's L of a linear mixed model of the linked response."""
    columns = {name: column(name, predictors, len(y)) for name in formula.predictors}
    columns |= {c: column(c, predictors, len(y)) for c in formula.fixed}
    columns |= {c: column(c, predictors, len(y)) for term in formula.random for c in term.columns}
    # Where the search finds no optimum, least squares is a sufficient start.
    with suppress(NotSearchable, NoResiduals, np.linalg.LinAlgError):
        if formula.random:
            model = replace(as_given(formula, columns, y, groups), weights=weights)
            searched = search_internal(model)
            figures = searched.figures
            blocks = searched.result.blocks()
            Ls = {group: L * figures.sigma for group, (_, L) in blocks.items()}
            return figures.beta, figures.sigma, Ls
    summary, _ = fit_least_squares(formula, predictors, y)
    return np.array(list(summary.fixed.values())), summary.sigma, {}


def start_at(
    model: Laplace,
    location: np.ndarray,
    sigma: float,
    groupings: Mapping[str, Grouping],
    Ls: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Return starting values of the parameters, and their rough standard errors."""
    X, n = model.X[0], len(model.y)
    spread = np.sqrt(np.diagonal(np.linalg.inv(X.T @ X))) * sigma
    eta = X @ location
    fitted = np.exp(eta) if model.link == "log" else eta
    centred = model.y - fitted + model.y.mean()
    if model.density.POSITIVE:
        centred = np.maximum(centred, model.y.min())
    others = model.density.start(centred) if len(model.X) > 1 else ()
    start, scales = [*location], [*spread]
    for value, columns in zip(others, model.X[1:], strict=True):
        start += [value, *np.zeros(columns.shape[1] - 1)]
        scales += [1 / math.sqrt(2 * n)] * columns.shape[1]
    for group, grouping in groupings.items():
        L = np.zeros(grouping.free.shape)
        if group in Ls:
            L[: len(Ls[group]), : len(Ls[group])] = Ls[group]
        for c, k in enumerate(grouping.predictor):
            size = math.sqrt(np.mean(grouping.Z[:, c] ** 2)) or 1.0
            L[c, c] = max(L[c, c], (SCALE_SD if k else SMALLEST_SD * sigma) / size)
        sd = np.sqrt((L**2).sum(1)) / math.sqrt(2 * grouping.levels)
        start += [*L[grouping.free]]
        scales += [*np.repeat(sd[:, None], len(sd), 1)[grouping.free]]
    return np.array(start), np.array(scales)


def maximise(
    model: Likelihood, start: np.ndarray, scales: np.ndarray
) -> tuple[np.ndarray, float, int]:
    """Return the maximum, the expected gain of another step, and the number of evaluations."""

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            value, gradient = model.value(start + x * scales)
        except np.linalg.LinAlgError:
            return math.inf, np.zeros(len(x))
        if not np.isfinite(value):
            return math.inf, np.zeros(len(x))
        return -value, -gradient * scales

    if not np.isfinite(objective(np.zeros(len(start)))[0]):
        raise NoMode("the log-likelihood is not finite where the search starts")
    options = {"gtol": GRADIENT, "maxiter": STEPS}
    with np.errstate(invalid="ignore", over="ignore"):
        result = minimize(objective, np.zeros(len(start)), jac=True, method="BFGS", options=options)
    gain = float(result.jac @ result.hess_inv @ result.jac / 2)
    return start + result.x * scales, gain, int(result.nfev) + 1


def _with_curvature(
    model: Laplace, best: np.ndarray, given: np.ndarray, is_singular: bool
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the maximum after a Newton step, a further one's gain, and the effects' covariance.

    The covariance is that of the inverse Hessian by all parameters; `given` L, of a singular fit or
    without a positive definite Hessian.
    """
    p = len(given)
    scales = np.append(np.sqrt(np.diagonal(given)), np.full(len(best) - p, 0.1))
    moves = HESSIAN_STEP * np.diag(scales)
    ends = np.array([[model.value(best + sign * move)[1] for sign in (1, -1)] for move in moves])
    H = scales * (ends[:, 1] - ends[:, 0]) / (2 * HESSIAN_STEP)
    H = (H + H.T) / 2
    value, gradient = model.value(best)
    values, vectors = np.linalg.eigh(H)
    if is_singular or values[0] <= 1e-8 * values[-1]:
        keep = values > 1e-8 * values[-1]
        along = vectors[:, keep].T @ (gradient * scales)
        return best, float((along**2 / values[keep]).sum() / 2), given
    inverse = scales[:, None] * np.linalg.inv(H) * scales
    there = best + inverse @ gradient
    with suppress(np.linalg.LinAlgError):
        value_there, gradient_there = model.value(there)
        if value_there >= value - 1e-9 * abs(value):
            best, gradient = there, gradient_there
    return best, float(gradient @ inverse @ gradient / 2), inverse[:p, :p]


def _is_singular(Ls: Sequence[np.ndarray]) -> bool:
    for L in Ls:
        sd = np.sqrt((L**2).sum(1))
        if (np.abs(np.diagonal(L)) <= SINGULAR * sd).any():
            return True
    return False


def _spread(columns: list[str], L: np.ndarray) -> dict:
    """Return columns, sd (k,) and correlation (k, k) of a group's effects."""
    S = L @ L.T
    sd = np.sqrt(np.diagonal(S))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = S / np.outer(sd, sd)
    np.fill_diagonal(correlation, 1.0)
    return {"columns": columns, "sd": sd.tolist(), "correlation": correlation}
