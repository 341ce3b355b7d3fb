"""Mixed models of skewed or heteroscedastic responses, fitted by Laplace's method.

The location has the formula's fixed and random effects; the log of the scale has those of a formula
of its own, an intercept by default. Any number of crossed or nested grouping factors is covered.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from scipy.optimize import minimize

from recency import plugins
from recency.mixed.deviance import NoResiduals
from recency.mixed.factors import NotSearchable
from recency.mixed.formula import INTERCEPT, Formula, column
from recency.mixed.laplace import Grouping, Laplace, NoMode
from recency.mixed.least_squares import fit_least_squares
from recency.mixed.levels import Levels, joined
from recency.mixed.scaled_search import search_scaled
from recency.mixed.summary import FitSummary

DENSITIES = "recency.mixed.densities"
SCALE = "sigma: "
"""Prefix of the names of a scale formula's terms."""
TOLERANCE = 1e-5
"""A fit has converged when a step could raise the log-likelihood by no more than this."""
GRADIENT = 1e-3
"""Largest element of the gradient, per standard error of its parameter, where the search ends."""
SINGULAR = 1e-4
"""Ratio of a random effect's conditional standard deviation to the largest below which it is 0."""
EFFECTS = 12_000
"""Random effects outside the largest factor above which the dense part of P is too large."""
FIRST_SCALE_SD = 0.1
"""Standard deviation of random effects on the log of the scale where a search starts."""


@dataclass
class Generalised:
    """A fitted model; `summary.fixed` has the terms of all predictors, those of sigma prefixed."""

    summary: FitSummary
    others: dict[str, float]
    """estimates of further scale parameters, on the log scale: `beta` of the ex-Gaussian"""
    evaluations: int
    gain: float
    """log-likelihood that one more step would gain, about"""
    eta: np.ndarray
    """linear predictors (n, K) with random effects"""


def density_of(family: str) -> ModuleType:
    """Return the density of a family: a module of `recency.mixed.densities`."""
    return plugins.load(DENSITIES, family)


def fit_generalised(
    family: str,
    link: str,
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    scale: Formula | None = None,
) -> Generalised:
    """Fit by maximum likelihood, random effects integrated out by Laplace's approximation.

    Parameters
    ----------
    family, link
        A module of `recency.mixed.densities`, and one of its links.
    formula
        Location; terms are columns of `predictors`.
    predictors
        Columns (n,) by name, centred and scaled.
    y
        Response (n,).
    groups
        Grouping variables.
    scale
        Formula of the log of sigma; an intercept if None.

    Raises
    ------
    NotSearchable
        Where there is no random effect, or too many for memory.
    NoMode
        Where the likelihood has no finite value.
    """
    density = density_of(family)
    scale = scale or Formula(formula.response, (INTERCEPT,), ())
    groupings, names = _groupings(formula, scale, predictors, groups, len(y))
    fixed = _independent(formula, predictors, y), _independent(scale, predictors, y)
    others = density.PREDICTORS[2:]
    X = [np.column_stack([column(c, predictors, len(y)) for c in of]) for of in fixed]
    model = Laplace(density, link, y, [*X, *(np.ones((len(y), 1)) for _ in others)], groupings)
    start, scales = _start(model, formula, predictors, groups, fixed, names)
    best, gain, evaluations = _maximised(model, start, scales)
    mode = model.mode(best)
    betas, Ls = model.unpack(best)
    covariance = model.covariance(best)
    labels = [*fixed[0], *(SCALE + name for name in fixed[1])]
    estimates = np.concatenate(betas)
    q = len(labels)
    summary = FitSummary(
        fixed=dict(zip(labels, map(float, estimates[:q]), strict=True)),
        se=np.sqrt(np.diagonal(covariance))[:q].tolist(),
        theta=np.concatenate([L[g.free] for L, g in zip(Ls, groupings, strict=True)]).tolist(),
        sigma=math.exp(betas[1][0]),
        loglik=mode.loglik,
        singular=_is_singular(Ls),
        random={},
        modes={},
        messages=[],
        converged=gain <= TOLERANCE,
        covariance=covariance[:q, :q],
    )
    for name, labels_, L, effects in zip(
        names, _labels(groupings, formula, scale, names), Ls, model.effects(best, mode), strict=True
    ):
        _add(summary, name, labels_, L, effects, joined(name, groups).names)
    return Generalised(
        summary,
        dict(zip(others, map(float, estimates[q:]), strict=True)),
        evaluations,
        gain,
        mode.eta,
    )


def _add(
    summary: FitSummary,
    group: str,
    terms: list[str],
    L: np.ndarray,
    effects: np.ndarray,
    levels: Sequence[str],
) -> None:
    S = L @ L.T
    sd = np.sqrt(np.diagonal(S))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = S / np.outer(sd, sd)
    np.fill_diagonal(correlation, 1.0)
    summary.random[group] = {"columns": terms, "sd": sd.tolist(), "correlation": correlation}
    summary.modes[group] = dict(zip(levels, effects.tolist(), strict=True))


def _is_singular(Ls: Sequence[np.ndarray]) -> bool:
    for L in Ls:
        with np.errstate(invalid="ignore"):
            share = np.abs(np.diagonal(L)) / np.sqrt((L**2).sum(1))
        if not np.nanmin(np.append(share, 1.0)) >= SINGULAR or not (np.abs(L).sum(1) > 0).all():
            return True
    return False


def _terms(formula: Formula, scale: Formula, group: str):
    """Yield the columns of each random term of a group, with the predictor that it enters."""
    for predictor, each in enumerate((formula, scale)):
        for term in each.random:
            if term.group == group:
                blocks = [term.columns] if term.correlated else [(c,) for c in term.columns]
                yield from ((predictor, block) for block in blocks)


def _groupings(
    formula: Formula,
    scale: Formula,
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    n: int,
) -> tuple[list[Grouping], list[str]]:
    """Return the grouping factors and their names; effects of one term are correlated."""
    names = list(dict.fromkeys(term.group for each in (formula, scale) for term in each.random))
    if not names:
        raise NotSearchable("the model has no random effect")
    groupings = []
    for name in names:
        levels, columns, predictor, sizes = joined(name, groups), [], [], []
        for k, block in _terms(formula, scale, name):
            columns += [column(c, predictors, n) for c in block]
            predictor += [k] * len(block)
            sizes.append(len(block))
        free = np.zeros((len(columns),) * 2, dtype=bool)
        start = 0
        for size in sizes:
            free[start : start + size, start : start + size] = np.tril(np.ones((size, size), bool))
            start += size
        groupings.append(
            Grouping(
                levels.codes, len(levels.names), np.column_stack(columns), np.array(predictor), free
            )
        )
    sizes = sorted(grouping.size for grouping in groupings)
    if sum(sizes[:-1]) > EFFECTS:
        raise NotSearchable(
            f"{sum(sizes[:-1]):,} random effects outside the largest grouping factor are more than "
            f"{EFFECTS:,}"
        )
    return groupings, names


def _labels(groupings, formula: Formula, scale: Formula, names: Sequence[str]) -> list[list[str]]:
    return [
        [("", SCALE)[k] + c for k, block in _terms(formula, scale, name) for c in block]
        for name in names
    ]


def _independent(
    formula: Formula, predictors: Mapping[str, np.ndarray], y: np.ndarray
) -> tuple[str, ...]:
    """Return the fixed columns that do not depend on earlier ones."""
    summary, _ = fit_least_squares(formula, predictors, y)
    return tuple(summary.fixed)


def _start(
    model: Laplace,
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    fixed: tuple[tuple[str, ...], tuple[str, ...]],
    names: Sequence[str],
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the search starts, from a Gaussian model, and the parameters' rough standard errors."""
    y = np.log(model.y) if model.link == "log" else model.y
    groupings = dict(
        zip(
            names,
            (
                g
                for _, g in sorted(
                    zip(model.order, (model.first, *model.rest), strict=True),
                    key=lambda pair: pair[0],
                )
            ),
            strict=True,
        )
    )
    Ls = {name: np.zeros(g.free.shape) for name, g in groupings.items()}
    columns = {name: column(name, predictors, len(y)) for name in formula.predictors}
    columns[INTERCEPT] = np.ones(len(y))
    try:
        searched = search_scaled(formula, columns, y, dict(groups))
        at, found = searched.found.solution, searched.in_given_units()
        sigma = at.sigma
        kept = [
            c
            for c in range(len(formula.fixed))
            if c in (searched.found.products.kept or range(len(formula.fixed)))
        ]
        beta = searched.B[:, kept] @ at.beta
        beta = beta + searched.mean * (np.array(formula.fixed) == INTERCEPT)
        beta = dict(zip(formula.fixed, beta, strict=True))
        location = np.array([beta[name] for name in fixed[0]])
        for group, (_, L) in found.blocks().items():
            c = len(L)
            Ls[group][:c, :c] = L * sigma
    except (NotSearchable, NoResiduals, np.linalg.LinAlgError):
        summary, _ = fit_least_squares(formula, predictors, y)
        location, sigma = np.array(list(summary.fixed.values())), summary.sigma
        for name, grouping in groupings.items():
            Ls[name] = np.eye(len(grouping.free)) * sigma / 4
    X = model.X[0]
    spread = np.sqrt(np.diagonal(np.linalg.inv(X.T @ X))) * sigma
    others = model.density.start(_residual_response(model, location))
    start, scales = [*location], [*spread]
    for k, X in enumerate(model.X[1:]):
        start += [others[k], *np.zeros(X.shape[1] - 1)]
        scales += [1 / math.sqrt(2 * len(y))] * X.shape[1]
    for name, grouping in groupings.items():
        L = Ls[name]
        for c, k in enumerate(grouping.predictor):
            floor = FIRST_SCALE_SD if k else 0.05 * sigma
            rms = math.sqrt(np.mean(grouping.Z[:, c] ** 2)) or 1.0
            if abs(L[c, c]) < floor / rms:
                L[c, c] = floor / rms
        sd = np.sqrt((L**2).sum(1))
        size = np.repeat(sd[:, None], len(sd), 1) / math.sqrt(2 * grouping.levels)
        start += [*L[grouping.free]]
        scales += [*size[grouping.free]]
    return np.array(start, dtype=float), np.array(scales, dtype=float)


def _residual_response(model: Laplace, location: np.ndarray) -> np.ndarray:
    """Return responses with the mean of all and the spread of the residuals."""
    eta = model.X[0] @ location
    fitted = np.exp(eta) if model.link == "log" else eta
    left = model.y - fitted + model.y.mean()
    return np.maximum(left, model.y.min()) if model.density.POSITIVE else left


def _maximised(
    model: Laplace, start: np.ndarray, scales: np.ndarray
) -> tuple[np.ndarray, float, int]:
    """Return the maximum, the expected gain of another step, and the number of evaluations."""
    last: dict[str, np.ndarray] = {}

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            value, gradient = model.value(start + x * scales)
        except np.linalg.LinAlgError:
            return math.inf, np.full(len(x), math.nan)
        if not np.isfinite(value):
            return math.inf, np.full(len(x), math.nan)
        last["scaled"] = gradient * scales
        return -value, -gradient * scales

    value, _ = objective(np.zeros(len(start)))
    if not np.isfinite(value):
        raise NoMode("the log-likelihood is not finite where the search starts")
    with np.errstate(invalid="ignore", over="ignore"):
        result = minimize(
            objective,
            np.zeros(len(start)),
            jac=True,
            method="BFGS",
            options={"gtol": GRADIENT, "maxiter": 500},
        )
    gain = float(result.jac @ result.hess_inv @ result.jac / 2)
    return start + result.x * scales, gain, int(result.nfev) + 1
