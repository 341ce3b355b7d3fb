"""Confidence intervals of a mixed model's parameters: profile likelihood, Wald, bootstrap.

Simulate responses from a fitted mixed model, and refit the model to each of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from crosslmm import families, lme4
from crosslmm.deviance import nested_modes
from crosslmm.errors import InputError, nearest
from crosslmm.factors import NotSearchable, joined
from crosslmm.fit_formula import fit_density, search_of
from crosslmm.formula import INTERCEPT
from crosslmm.internal import correlation_at_limit
from crosslmm.lme4 import Refused
from crosslmm.model_request import linear_predictor
from crosslmm.profile_likelihood import (
    Given,
    Held,
    HeldFixed,
    HeldLaplace,
    HeldVariance,
    given_parameters,
    value_of,
)
from crosslmm.scaled_search import Searched, SearchResult
from crosslmm.several import SeveralProducts
from crosslmm.summary import FitSummary
from crosslmm.theta_search import blocks_of, search, search_several

if TYPE_CHECKING:
    from crosslmm.model import MixedModel
    from crosslmm.model_request import Source


STREAM = 48
"""Distinguishes these random numbers from others with the same seed."""


def simulate(fit: MixedModel, n: int, seed: int, new_effects: bool) -> pd.DataFrame:
    """Simulate responses; see crosslmm.model.MixedModel.simulate."""
    source, family = fit._source, fit.family
    if n < 1:
        raise InputError(f"n is {n!r} and must be 1 or more")
    names = [f"sim_{number}" for number in range(1, n + 1)]
    index = fit.fitted.index
    if source.prepared is None:
        try:
            values = lme4.simulated(source.in_r, n, seed, new_effects)
        except Refused as reason:
            raise InputError(f"simulate() of {fit.formula!r}: lme4: {reason}") from None
    elif family in (*families.LINEAR, *families.GENERALISED):
        random, draw = _generator(seed), _Draws(source)
        values = np.column_stack([draw(random, new_effects) for _ in range(n)])
    else:
        raise InputError(
            f"simulate() supports linear, binomial and Poisson models, not family {family!r}"
        )
    if family in (families.LOGNORMAL, families.SHIFTED):
        values = source.shift + np.exp(values)
    return pd.DataFrame(values, index, names)


def _generator(seed: int) -> np.random.Generator:
    """Return a stream other than the seed's own, which may have generated the data."""
    return np.random.default_rng([seed, STREAM])


class _Draws:
    """Draws of the response: of a linear model on the scale of its linear predictor."""

    def __init__(self, source: Source) -> None:
        self._family = source.request.family
        prepared, scale, figures = source.prepared, source.internal, source.result.figures
        n = len(prepared.y)
        rows = source.request.rows
        self._fixed = linear_predictor(source, rows, False, False)
        self._all = linear_predictor(source, rows, False, True)
        self._weights = np.ones(n) if prepared.weights is None else prepared.weights
        self._sd = source.result.summary.sigma / np.sqrt(self._weights)
        self._groups = []
        for group, basis, L in zip(scale.groups, scale.random, figures.Ls, strict=True):
            Z = np.column_stack(basis.values(prepared.leaves, n))
            root = scale.factor * figures.sigma * L
            self._groups.append((joined(group, prepared.groups), Z, root))

    def __call__(self, random: np.random.Generator, new_effects: bool) -> np.ndarray:
        """Return a response (n,), including the offset."""
        z = (self._fixed if new_effects else self._all).copy()
        for levels, Z, root in self._groups if new_effects else ():
            effects = random.normal(size=(len(levels.names), len(root))) @ root.T
            z += (Z * effects[levels.codes]).sum(1)
        if self._family in families.GENERALISED:
            return families.density(self._family).draw(random, z[:, None], self._weights)
        return z + self._sd * random.normal(size=len(z))


def refits(source: Source, draws: int, seed: int) -> Iterator[FitSummary]:
    """Simulate responses, with new random effects, and yield the fit to each."""
    again, draw = _Refit(source), _Draws(source)
    random = _generator(seed)
    for _ in range(draws):
        z = draw(random, True)
        offset = source.prepared.offset
        yield again.fit(z if offset is None else z - offset).summary()


class _Refit:
    """A model that is refitted to other responses by replacing only their cross-products."""

    def __init__(self, source: Source) -> None:
        self.searched = search_of(source.prepared, source.shift, source.request.reml)
        model = self.searched.model
        result = self.searched.result
        X = model.X()
        self._X = np.column_stack([X[c] for c in result.products.kept])
        by_factor: dict[str, list[np.ndarray]] = {}
        for group, Z in zip(model.scale.groups, model.Z(), strict=True):
            by_factor.setdefault(group.strip("`"), []).extend(Z)
        self._factors = []
        for factor in result.factors:
            levels = joined(factor.group, self.searched.groups)
            Z = by_factor.get(factor.group.strip("`"), [])
            self._factors.append((levels.codes, len(levels.names), Z))

    def fit(self, z: np.ndarray) -> Searched:
        """Fit a response (n,), by REML if the model was."""
        model = self.searched.model
        scale = model.scale
        mean = float(z.mean()) if INTERCEPT in model.formula.fixed else scale.mean
        left = (z - mean) / scale.factor
        weighted = left if model.weights is None else model.weights * left
        old = self.searched.result
        ww = old.products.ww.copy()
        ww[:-1, -1] = ww[-1, :-1] = self._X.T @ weighted
        ww[-1, -1] = left @ weighted
        zw = [
            np.stack([np.bincount(codes, column_ * weighted, levels) for column_ in Z], 1)
            if Z
            else np.zeros((levels, 0))
            for codes, levels, Z in self._factors
        ]
        result = self._search(old, ww, zw, weighted)
        return Searched(
            replace(model, y=left, scale=replace(scale, mean=mean)), result, self.searched.groups
        )

    def _search(
        self, old: SearchResult, ww: np.ndarray, zw: list[np.ndarray], weighted: np.ndarray
    ) -> SearchResult:
        free = [factor.free for factor in old.factors]
        if isinstance(old.products, SeveralProducts):
            aw, rw = old.products.aw.copy(), old.products.rw.copy()
            aw[..., -1] = zw[0]
            rw[:, -1] = np.concatenate([part.ravel() for part in zw[1:]])
            products = replace(old.products, aw=aw, rw=rw, ww=ww)
            optimum = search_several(products, free)
            return replace(old, products=products, optimum=optimum)
        aw, bw, cells = old.products.aw.copy(), old.products.bw.copy(), old.products.cells
        aw[..., -1] = zw[0]
        if len(zw) > 1:
            bw[..., -1] = zw[1]
        if cells is not None:
            cells = cells.copy()
            cell = self._factors[0][0] * cells.shape[1] + self._factors[1][0]
            sums = np.bincount(cell, weighted, cells.shape[0] * cells.shape[1])
            cells[..., -1] = sums.reshape(cells.shape[:2])
        products = replace(old.products, aw=aw, bw=bw, ww=ww, cells=cells)
        free += [np.zeros((0, 0), dtype=bool)] * (2 - len(free))
        optimum = search(products, *free)
        of_pairs = nested_modes(products, optimum.solution, optimum.t) if old.nested else None
        return replace(old, products=products, optimum=optimum, of_pairs=of_pairs)


METHODS = ("profile", "wald", "boot")
PRECISION = 1e-4
"""Tolerance of the root of the deviance's rise at an interval's end."""
STEPS = 40
LOWER = 1e-3
"""How much lower than the fitted optimum a profiled deviance may be before this is an error."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a model: its name as in lme4, and its location in a FitSummary."""

    name: str
    group: str = ""
    places: tuple[int, ...] = ()
    """indices of the group's columns: one for an sd, two for a correlation"""
    held: Held | None = None
    """for a variance parameter"""

    def of(self, summary: FitSummary) -> float:
        """Return the estimate."""
        if self.held is None:
            return summary.fixed.get(self.name, math.nan)
        if not self.places:
            return summary.sigma
        spread = summary.random[self.group]
        if len(self.places) == 1:
            return spread["sd"][self.places[0]]
        return float(np.asarray(spread["correlation"])[self.places])

    @property
    def bounds(self) -> tuple[float, float]:
        """Limits of the values."""
        if self.held is None:
            return -math.inf, math.inf
        return (-1.0, 1.0) if len(self.places) == 2 else (0.0, math.inf)


def intervals(
    fit: MixedModel,
    chosen: str | Sequence[str],
    method: str,
    level: float,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Return a table of intervals; see crosslmm.model.MixedModel.confint."""
    if method not in METHODS:
        raise InputError(f"method is {nearest(method, METHODS)}")
    if not 0 < level < 1:
        raise InputError(f"level is {level!r} and must be between 0 and 1, such as 0.95")
    source = fit._source
    if source.prepared is None:
        limits = _by_lme4(source, method, level, draws, seed)
    elif method == "wald":
        limits = _wald(fit, level)
    elif fit.family in families.GENERALISED:
        limits = _intervals_of_generalised(source, chosen, method, level, draws, seed)
    else:
        _check_linear(source, method)
        if method == "boot":
            limits = _bootstrap(source, level, draws, seed)
        else:
            searched = _search_optimum(source)
            summary = searched.summary()
            every = parameters(searched, summary)
            names = _parameter_names(
                chosen, [(parameter.name, parameter.held is not None) for parameter in every]
            )
            every = [parameter for parameter in every if parameter.name in names]
            limits = {
                parameter.name: _profile(searched, summary, parameter, level) for parameter in every
            }
    is_random = [(name, name not in fit.fixed.index) for name in limits]
    names = _parameter_names(chosen, is_random)
    tail = 50 * (1 - level)
    columns = [f"{tail:.4g} %", f"{100 - tail:.4g} %"]
    table = pd.DataFrame.from_dict(limits, orient="index", columns=columns)
    return table.loc[[name for name in limits if name in names]]


def _parameter_names(chosen: str | Sequence[str], every: Sequence[tuple[str, bool]]) -> list[str]:
    """Return the names of the chosen parameters; `every` says which are variance parameters."""
    names = [name for name, _ in every]
    if chosen == "all":
        return names
    if isinstance(chosen, str) and chosen in ("fixed", "random"):
        return [name for name, is_random in every if is_random == (chosen == "random")]
    asked = [chosen] if isinstance(chosen, str) else list(chosen)
    for name in asked:
        if name not in names:
            raise InputError(f"parameters: {nearest(name, ['all', 'fixed', 'random', *names])}")
    return asked


def _check_linear(source: Source, method: str) -> None:
    family = source.request.family
    if family not in families.LINEAR:
        raise InputError(
            f'confint(method="{method}") supports linear models and lme4\'s, not family '
            f'{family!r}; method="wald" supports every one'
        )


def _search_optimum(source: Source) -> Searched:
    """Search the optimum by ML, around which the likelihood is profiled."""
    try:
        return search_of(source.prepared, source.shift)
    except NotSearchable as reason:
        raise InputError(
            f"formula {source.request.text!r}: {reason}; the profile needs it"
        ) from None


def parameters(searched: Searched, summary: FitSummary) -> list[Parameter]:
    """Return the parameters of a searched model in lme4's order: variances by term, then fixed."""
    result = searched.result
    numbers = {f.group.replace("`", ""): number for number, f in enumerate(result.factors)}
    numbers[(result.nested or "").replace("`", "")] = 2
    every = []
    for group, spread in summary.random.items():
        number, columns = numbers[group], spread["columns"]
        free = [np.ones((1, 1), dtype=bool)] if number == 2 and result.nested else []
        free = free or [result.factors[number].free]
        for block in blocks_of(free):
            for c, index in enumerate(block.places):
                held = Held(number, (int(index),))
                name = f"sd_{columns[index]}|{group}"
                every.append(Parameter(name, group, (int(index),), held))
                for other in block.places[c + 1 :]:
                    places = int(index), int(other)
                    name = f"cor_{columns[other]}.{columns[index]}|{group}"
                    every.append(Parameter(name, group, places, Held(number, places)))
    every.append(Parameter("sigma", held=Held()))
    return every + [Parameter(name) for name in summary.fixed]


def _profile(
    searched: Searched, summary: FitSummary, parameter: Parameter, level: float
) -> list[float]:
    """Return the two values at which the root of the deviance's rise is the normal quantile."""
    estimate, minimum = parameter.of(summary), searched.result.optimum.deviance
    deviance: Callable[[float, Any], tuple[float, Any]]
    if parameter.held is None:
        names = list(summary.fixed)
        combination = np.eye(len(names))[names.index(parameter.name)]
        deviance = HeldFixed(searched, combination).deviance
        step = summary.se[names.index(parameter.name)]
    else:
        if len(parameter.places) == 2:
            rows = searched.A[parameter.held.factor][list(parameter.places)]
            if (limit := correlation_at_limit(rows)) is not None:
                return [limit, limit]
        held = HeldVariance(searched, parameter.held)
        # Standard deviations on the internal scale; a correlation has no scale.
        unit = 1.0 if len(parameter.places) == 2 else searched.model.scale.factor
        unit *= searched.model.scale.root if not parameter.places else 1.0

        def deviance(value: float, start: Any) -> tuple[float, Any]:
            return held.deviance(value / unit, start)

        step = _rough_error(summary, parameter, searched.result.products.n)
        if math.isnan(estimate):  # a correlation with an effect of variance 0 is arbitrary
            return list(parameter.bounds)
    limits = []
    for side, bound in zip((-1.0, 1.0), parameter.bounds, strict=True):
        start: Any = None

        def rise(value: float) -> float:
            nonlocal start
            there, start = deviance(value, start)
            if there < minimum - LOWER:
                raise InputError(
                    f"the deviance at {parameter.name} = {value:.6g} is {there:.6f}, lower than the "
                    f"fit's {minimum:.6f}, which is no optimum"
                )
            return math.sqrt(max(there - minimum, 0.0))

        quantile = float(ndtri((1 + level) / 2))
        limits.append(_limit(rise, estimate, side * step * quantile, quantile, bound))
    return limits


def _limit(
    rise: Callable[[float], float], estimate: float, step: float, quantile: float, bound: float
) -> float:
    """Return the value beyond the estimate where `rise`, near linear, is `quantile`, or the bound."""

    def within(value: float) -> float:
        return max(value, bound) if step < 0 else min(value, bound)

    if estimate == bound:
        return bound
    below, above = (estimate, 0.0), None
    value = within(estimate + step)
    for _ in range(STEPS):
        here = value, rise(value)
        if abs(here[1] - quantile) < PRECISION:
            return value
        if here[1] < quantile:
            if value == bound:
                return bound
            below = here
        else:
            above = here
        if above is None:
            further = float(np.clip(quantile / max(here[1], 1e-9), 1.05, 4))
            value = within(estimate + further * (value - estimate))
        else:
            share = (quantile - below[1]) / (above[1] - below[1])
            value = below[0] + float(np.clip(share, 0.02, 0.98)) * (above[0] - below[0])
    raise InputError(f"no end of the interval was found beyond {value:.6g}")


def _rough_error(summary: FitSummary, parameter: Parameter, n: int) -> float:
    """Return the order of magnitude of a variance parameter's standard error."""
    if not parameter.places:
        return summary.sigma / math.sqrt(2 * n)
    levels = len(summary.modes[parameter.group])
    if len(parameter.places) == 2:
        return max(1 - parameter.of(summary) ** 2, 0.05) / math.sqrt(levels)
    modes = np.array(list(summary.modes[parameter.group].values()))[:, parameter.places[0]]
    least = float(np.std(modes)) or 1e-3 * summary.sigma
    return max(parameter.of(summary), least) / math.sqrt(2 * levels)


def _wald(fit: MixedModel, level: float) -> dict[str, list[float]]:
    """Return estimates with quantiles of the normal, or with `ddf` of each effect's t distribution."""
    share, limits = (1 + level) / 2, {}
    for name, row in fit.fixed.iterrows():
        quantile = float(stdtrit(row.df, share) if fit.ddf else ndtri(share))
        limits[name] = [row.estimate - quantile * row.se, row.estimate + quantile * row.se]
    return limits


def _bootstrap(source: Source, level: float, draws: int, seed: int) -> dict[str, list[float]]:
    """Return percentiles of the estimates from responses simulated from the model."""
    _check_draws(draws)
    searched = _search_optimum(source)
    every = parameters(searched, searched.summary())
    values = np.array([[p.of(summary) for p in every] for summary in refits(source, draws, seed)])
    limits = _percentiles(values, level)
    return {p.name: row for p, row in zip(every, limits, strict=True)}


def _intervals_of_generalised(
    source: Source, chosen: str | Sequence[str], method: str, level: float, draws: int, seed: int
) -> dict[str, list[float]]:
    """Return the intervals of a generalised model."""
    every = given_parameters(source)
    names = _parameter_names(chosen, [(given.name, given.term >= 0) for given in every])
    every = [given for given in every if given.name in names]
    try:
        if method == "profile":
            return {given.name: _profile_laplace(source, given, level) for given in every}
        _check_draws(draws)
        draw, random, values = _Draws(source), _generator(seed), []
        for _ in range(draws):
            drawn = replace(source.prepared, y=draw(random, True))
            summary = fit_density(source.request, drawn, []).result.summary
            values.append([value_of(given, source, summary) for given in every])
    except (NotSearchable, np.linalg.LinAlgError) as reason:
        raise InputError(f"confint of {source.request.text!r}: {reason}") from None
    return dict(
        zip([given.name for given in every], _percentiles(np.array(values), level), strict=True)
    )


def _profile_laplace(source: Source, given: Given, level: float) -> list[float]:
    """Return the limits of a generalised model's parameter by profile likelihood."""
    if len(given.rows) == 2:
        rows = source.internal.random[given.term].B[list(given.rows)]
        if (limit := correlation_at_limit(rows)) is not None:
            return [limit, limit]
    held = HeldLaplace(source, given)
    quantile = float(ndtri((1 + level) / 2))
    limits = []
    for side, bound in zip((-1.0, 1.0), held.bounds, strict=True):
        step = side * quantile * held.error
        limits.append(_limit(held.rise_on(), held.estimate, step, quantile, bound))
    low, high = (held.unit * limit + held.shift for limit in limits)
    return [low, high]


def _check_draws(draws: int) -> None:
    if draws < 2:
        raise InputError(f"draws is {draws!r} and must be 2 or more, such as 500")


def _percentiles(values: np.ndarray, level: float) -> list[list[float]]:
    """Return the two percentiles of each column of `values` (draws, parameters)."""
    tails = 100 * np.array([(1 - level) / 2, (1 + level) / 2])
    return np.nanpercentile(values, tails, axis=0).T.tolist()


def _by_lme4(
    source: Source, method: str, level: float, draws: int, seed: int
) -> dict[str, list[float]]:
    """Have lme4 compute the intervals of a model that it fitted."""
    if source.request.family not in (families.GAUSSIAN, *families.GENERALISED):
        raise InputError(
            f"intervals of family {source.request.family!r} need a formula that the search reads"
        )
    try:
        limits = lme4.intervals(
            source.in_r, {"wald": "Wald"}.get(method, method), level, draws, seed
        )
    except Refused as reason:
        raise InputError(f"confint of {source.request.text!r}: lme4: {reason}") from None
    return limits
