"""Fit a specified model: by the search, by lme4, or by Laplace's approximation.

Shifted lognormal models: log(y - shift) is Gaussian, the shift estimated by profile likelihood.

The likelihood is unbounded as the shift approaches the smallest response (Hill 1963). As usual, a
local maximum is used, searched from a grid of shifts between 0 and the smallest response.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from crosslmm import design as designs
from crosslmm import families, lme4
from crosslmm.design import empty_cells, separation
from crosslmm.deviance import NoResiduals
from crosslmm.errors import InputError
from crosslmm.expressions import Uncovered
from crosslmm.factors import NotSearchable, joined
from crosslmm.fitting import (
    Result,
    check_levels,
    dropped_notes,
    fit_in_r,
    in_r,
    read_fit,
    unconfirmed,
)
from crosslmm.formula import INTERCEPT, Formula
from crosslmm.generalised import TOLERANCE, Generalised, fit_generalised
from crosslmm.internal import Figures, Internal, in_given_units, relative_root
from crosslmm.lme4 import Refused
from crosslmm.model_request import ModelRequest, Prepared, Source, frame_in_r, prepare
from crosslmm.referee import check_maximum, failures
from crosslmm.scaled_search import Searched, search_internal


def fit_density(model: ModelRequest, prepared: Prepared, notes: list[str]) -> Source:
    """Fit on the internal scale, and convert the estimates to the given units."""
    link = model.link or (*families.links(model.family), "identity")[0]
    density = families.density(model.family)
    powers = getattr(density, "POWERS", None)
    internal = internal_of(prepared, link, density.POSITIVE, powers is not None)
    scale = internal.scale
    formula, columns = separate_columns(internal)
    try:
        # A family without a residual variance may have as many effects as rows.
        rows = len(prepared.y) + (model.family in families.GENERALISED)
        check_levels(scale.formula, prepared.groups, rows)
        fitted = fit_generalised(
            *(model.family, link, formula, columns, internal.y, prepared.groups),
            *(prepared.weights, internal.offset, model.quadrature),
        )
    except (Refused, NotSearchable, np.linalg.LinAlgError) as reason:
        raise InputError(f"formula {model.text!r} was not fitted: {reason}") from None
    scales = [*fitted.scale.fixed.values(), *fitted.others.values()] if fitted.scale else []
    scales = [
        v + p * scale.log_unit for v, p in zip(scales, powers or [0] * len(scales), strict=True)
    ]
    labels = list(formula.fixed)
    kept = tuple(scale.fixed.kept[labels.index(label)] for label in fitted.location.fixed)
    figures = _figures(fitted, internal, kept, math.exp(scales[0]) if scales else 1.0)
    checks = check_maximum(fitted.gain, TOLERANCE, figures.covariance)
    notes = [*notes, *dropped_notes(scale.fixed, kept), *_separation(model, prepared)]
    notes += failures(checks)
    converged = figures.converged and all(check.passed for check in checks)
    if converged and figures.singular:
        notes.append("singular fit: a variance or a correlation is at its limit")
    summary = in_given_units(scale, figures, internal.groups, rows=len(prepared.y))
    result = Result(
        summary, converged, "; ".join(notes), by="laplace", checks=checks, figures=figures
    )
    return Source(model, prepared, result, scale=tuple(scales), internal=scale)


def separate_columns(internal: Internal) -> tuple[Formula, dict[str, np.ndarray]]:
    """Return the formula and columns (n,) by new names.

    The factors of a product are scaled differently from the product, and must not be found by name.
    """
    columns: dict[str, np.ndarray] = {}
    random = []
    labels = [c if c == INTERCEPT else f"fixed{n}" for n, c in enumerate(internal.formula.fixed)]
    columns |= dict(zip(labels, internal.X(), strict=True))
    for number, (term, Z) in enumerate(zip(internal.formula.random, internal.Z(), strict=True)):
        names = [c if c == INTERCEPT else f"random{number}.{n}" for n, c in enumerate(term.columns)]
        columns |= dict(zip(names, Z, strict=True))
        random.append(replace(term, columns=tuple(names)))
    return replace(internal.formula, fixed=tuple(labels), random=tuple(random)), columns


def internal_of(
    prepared: Prepared, link: str = "", is_positive: bool = False, has_units: bool = False
) -> Internal:
    """Return the model with a standardised response, if the density's units are known."""
    offset = prepared.offset
    if offset is not None:  # of generalised models only
        mean = -float(offset.mean()) if prepared.fixed.constant is not None else 0.0
        internal = prepared.internal(prepared.y, prepared.scale(mean=mean))
        return replace(internal, offset=offset + mean)
    y, mean, unit = prepared.y, 0.0, 1.0
    free = prepared.fixed.constant is not None
    if not has_units or (link == "log" and not free):
        return prepared.internal(y, prepared.scale())
    if link == "log":
        unit = float(np.exp(np.log(y).mean())) if is_positive else float(np.sqrt(np.mean(y**2)))
        mean = math.log(unit)
    elif is_positive or not free:
        unit = float(np.sqrt(np.mean(y**2)))
    else:
        mean = float(y[0] + (y - y[0]).mean())
        unit = float(np.sqrt(np.mean((y - mean) ** 2)))
    given = y / unit if link == "log" else (y - mean) / unit
    factor = 1.0 if link == "log" else unit
    scale = prepared.scale(mean=mean, factor=factor, log_unit=math.log(unit))
    return prepared.internal(given, scale)


def _figures(
    fitted: Generalised, internal: Internal, kept: tuple[int, ...], sigma: float
) -> Figures:
    """Arrange the figures by the random terms of the model."""
    summary, Ls, modes = fitted.location, [], []
    taken: dict[str, int] = {}
    for group, basis in zip(internal.scale.groups, internal.scale.random, strict=True):
        start = taken.get(group, 0)
        part = slice(start, start + len(basis.columns))
        taken[group] = part.stop
        sd = np.array(summary.random[group]["sd"])[part]
        correlation = np.array(summary.random[group]["correlation"], dtype=float)[part, part]
        Ls.append(relative_root(np.nan_to_num(correlation) * np.outer(sd, sd)))
        names = joined(group, internal.groups).names
        modes.append(np.array([summary.modes[group][name] for name in names])[:, part])
    return Figures(
        beta=np.array(list(summary.fixed.values())),
        covariance=summary.covariance,
        sigma=sigma,
        loglik=summary.loglik,
        Ls=Ls,
        modes=modes,
        singular=summary.singular,
        converged=summary.converged,
        kept=kept,
        is_relative=False,
    )


def fit(model: ModelRequest, notes: list[str]) -> tuple[str, Source]:
    """Return the name of the engine that fitted, and the fit with its source; see `lmer`."""
    is_generalised = model.family in families.GENERALISED
    if is_generalised and model.engine == "lme4":
        return "lme4", _fit_glmer(model, notes)
    prepared: Prepared | None = None
    uncovered = ""
    try:
        prepared = prepare(model)
        notes = [*notes, *designs.levels_notes(prepared.formula, model.rows)]
        notes = [*notes, *empty_cells(prepared.design, model.rows)]
    except Uncovered as reason:
        if model.engine == "search":
            raise InputError(f'{reason}; engine="lme4" has R read it') from None
        if model.family not in (families.GAUSSIAN, families.LOGNORMAL, *families.GENERALISED):
            raise InputError(f"{reason}; family {model.family!r} needs a formula that is") from None
        uncovered = str(reason)
    if is_generalised and prepared is None:
        return "lme4", _fit_glmer(model, notes)
    if model.family not in families.LINEAR:
        return "laplace", fit_density(model, prepared, notes)
    shift, more = _shift(prepared) if model.family == families.SHIFTED else (0.0, "")
    internal = linear_model(prepared, prepared.working(shift), model.reml) if prepared else None
    try:
        if model.engine == "search":
            result = _without_r(model, internal, notes)
        else:
            result = _with_r(model, internal, notes, uncovered)
    except lme4.Unavailable as error:
        if model.engine != "auto" or internal is None:
            raise InputError(f'{error}; engine="search" needs no R') from None
        result = _without_r(model, internal, [*notes, f"not confirmed by lme4: {error}"])
    if result.summary is None:
        raise InputError(f"formula {model.text!r} was not fitted: {result.note}")
    result.note = "; ".join(filter(None, [result.note, more]))
    if model.family != families.GAUSSIAN:  # add the Jacobian of the response's logarithm
        logs = prepared.logs(shift) if prepared else lme4.fitted_of(result.model)[1]
        result.summary.loglik -= float(logs.sum())
    by = "search, confirmed by lme4" if result.difference is not None else result.by
    return by, Source(model, prepared, result, shift, internal=internal and internal.scale)


def linear_model(prepared: Prepared, z: np.ndarray, reml: bool = False) -> Internal:
    """Return a linear model of a response (n,), minus the offset, on the internal scale."""
    mean = 0.0
    if prepared.fixed.constant is not None:
        mean = float(z[0] + (z - z[0]).mean())
    unit = float(np.sqrt(np.mean((z - mean) ** 2))) or 1.0
    weights, root = prepared.weights, 1.0
    if weights is not None:
        root = float(np.sqrt(weights.mean()))
        weights = weights / root**2
    scale = prepared.scale(mean=mean, factor=unit, log_unit=math.log(unit), root=root)
    return replace(prepared.internal((z - mean) / unit, scale, weights), reml=reml)


def search_of(prepared: Prepared, shift: float = 0.0, reml: bool = False) -> Searched:
    """Search theta of a linear mixed model."""
    return search_internal(linear_model(prepared, prepared.working(shift), reml))


def _shift(prepared: Prepared) -> tuple[float, str]:
    """Estimate the shift by profile likelihood; return it and a note on it."""

    def loglik(z: np.ndarray) -> float:
        model = linear_model(prepared, z if prepared.offset is None else z - prepared.offset)
        return model.scale.log_jacobian(len(z)) - search_internal(model).deviance / 2

    try:
        return profile_shift(loglik, prepared.y)
    except (NotSearchable, np.linalg.LinAlgError) as reason:
        raise InputError(f"formula {prepared.formula}: the shift was not found: {reason}") from None


def _without_r(model: ModelRequest, internal: Internal, notes: list[str]) -> Result:
    """Fit without R."""
    try:
        check_levels(internal.scale.formula, internal.groups, len(internal.y))
        return unconfirmed(search_internal(internal), notes)
    except Refused as reason:
        raise InputError(f"formula {model.text!r}: {reason}") from None
    except NotSearchable as reason:
        raise InputError(
            f'formula {model.text!r}: {reason}; engine="lme4" fits it, which needs R'
        ) from None
    except NoResiduals as reason:
        return Result(None, False, str(reason))
    except np.linalg.LinAlgError as reason:
        return Result(None, False, f"its likelihood has no finite value ({reason})")


def _with_r(
    model: ModelRequest, internal: Internal | None, notes: list[str], uncovered: str
) -> Result:
    """Fit with lme4, confirmed at the theta that was searched, or by its own optimiser."""
    try:
        if internal is None:
            frame = frame_in_r(model.rows, model.contrasts)
            in_r_, messages = lme4.set_up(model.text_in_r(), frame, model.reml, model.weights)
            fit, more = lme4.optimise(in_r_)
            reason = [f"lme4's optimiser was used: {uncovered}"] if model.engine == "auto" else []
            return read_fit(fit, [*messages, *more], [*notes, *reason])
        of_r, searched = in_r(internal), None
        notes = [*notes, *dropped_notes(internal.scale.fixed, internal.scale.fixed.kept)]
        if model.engine == "auto":
            try:
                searched = search_internal(internal)
            except NoResiduals as reason:
                return Result(None, False, str(reason))
            except (NotSearchable, np.linalg.LinAlgError) as reason:
                notes.append(f"lme4's optimiser was used: {reason}")
        return fit_in_r(of_r, searched, notes)
    except Refused as reason:
        raise InputError(f"formula {model.text!r}: lme4: {reason}") from None


def _fit_glmer(model: ModelRequest, notes: list[str]) -> Source:
    """Fit with lme4's glmer(), which reads the formula."""
    try:
        frame = frame_in_r(model.rows, model.contrasts)
        fit, messages = lme4.generalised(model.text_in_r(), frame, model.family, model.weights)
        result = read_fit(fit, messages, notes)
    except Refused as reason:
        raise InputError(f"formula {model.text!r}: lme4: {reason}") from None
    if not result.summary.random:
        raise InputError(f"formula {model.text!r} has no random term such as '(1 | subject)'")
    return Source(model, None, result)


def _separation(model: ModelRequest, prepared: Prepared) -> list[str]:
    """Return a note on events that the fixed effects predict without error."""
    event = prepared.y
    if model.family != families.BINOMIAL or not np.isin(event, (0, 1)).all():
        return []
    columns = list(prepared.fixed.names)
    X = np.column_stack(prepared.fixed.values(prepared.leaves, len(event)))
    return [*filter(None, [separation(X, columns, event > 0)])]


GRID = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97)
"""Shifts at which the likelihood is evaluated first, relative to the smallest response."""
PRECISION = 1e-4
"""Tolerance of the shift, relative to the smallest response."""


def profile_shift(loglik: Callable[[np.ndarray], float], y: np.ndarray) -> tuple[float, str]:
    """Return the shift that maximises the likelihood locally, and a note on it.

    Parameters
    ----------
    loglik
        Maximised log-likelihood of the model for a response z (n,) = log(y - shift).
    y
        Response (n,), above 0.
    """
    smallest = float(y.min())

    def value(share: float) -> float:
        z = np.log(y - share * smallest)
        return loglik(z) - float(z.sum())

    values = [value(share) for share in GRID]
    falling = [i for i in range(len(GRID) - 1) if values[i] > values[i + 1]]
    best = falling[0] if falling else len(GRID) - 1
    if best == len(GRID) - 1:
        return GRID[-1] * smallest, (
            f"the likelihood rises up to a shift of {GRID[-1]:.0%} of the smallest response; the "
            f"shift was set to {GRID[-1] * smallest:.4g}"
        )
    low, high = GRID[max(best - 1, 0)], GRID[best + 1]
    optimum = minimize_scalar(
        lambda share: -value(share),
        bounds=(low, high),
        method="bounded",
        options={"xatol": PRECISION},
    )
    if values[best] > -optimum.fun:
        return GRID[best] * smallest, ""
    return float(optimum.x) * smallest, ""


def check(shift: float, y: np.ndarray) -> None:
    """Raise an InputError if a response is not above the shift."""
    if below := int((y <= shift).sum()):
        raise InputError(
            f"design: shift is {shift:g}, and {below:,} of {len(y):,} responses are not above it, the "
            f"smallest {y.min():g}; take a smaller one, or leave `shift` out to have it estimated"
        )
