"""Fit a specified mixed model of a skewed response by Laplace's approximation."""

import math
from dataclasses import replace

import numpy as np

from crosslmm import families
from crosslmm.errors import InputError
from crosslmm.factors import NotSearchable
from crosslmm.fitting import Result, check_levels, dropped_notes
from crosslmm.formula import INTERCEPT
from crosslmm.generalised import TOLERANCE, Generalised, fit_generalised
from crosslmm.internal import Figures, Internal, in_given_units, relative_root
from crosslmm.levels import joined
from crosslmm.lme4 import Refused
from crosslmm.model_request import ModelRequest, Prepared
from crosslmm.referee import check_maximum, failures
from crosslmm.source import Source


def fit_density(model: ModelRequest, prepared: Prepared, notes: list[str]) -> Source:
    """Fit on the internal scale, and convert the estimates to the given units."""
    link = model.link or families.links(model.family)[0]
    density = families.density(model.family)
    powers = getattr(density, "POWERS", None)
    internal = _internal(prepared, link, density.POSITIVE, powers is not None)
    scale = internal.scale
    # Separate names, since the factors of a product are scaled differently from the product.
    columns, random = {}, []
    labels = [c if c == INTERCEPT else f"fixed{n}" for n, c in enumerate(internal.formula.fixed)]
    columns |= dict(zip(labels, internal.X(), strict=True))
    for number, (term, Z) in enumerate(zip(internal.formula.random, internal.Z(), strict=True)):
        names = [c if c == INTERCEPT else f"random{number}.{n}" for n, c in enumerate(term.columns)]
        columns |= dict(zip(names, Z, strict=True))
        random.append(replace(term, columns=tuple(names)))
    formula = replace(internal.formula, fixed=tuple(labels), random=tuple(random))
    try:
        check_levels(scale.formula, prepared.groups, len(prepared.y))
        fitted = fit_generalised(model.family, link, formula, columns, internal.y, prepared.groups)
    except (Refused, NotSearchable, np.linalg.LinAlgError) as reason:
        raise InputError(f"formula {model.text!r} was not fitted: {reason}") from None
    scales = [*fitted.scale.fixed.values(), *fitted.others.values()]
    scales = [
        v + p * scale.log_unit for v, p in zip(scales, powers or [0] * len(scales), strict=True)
    ]
    kept = tuple(scale.fixed.kept[labels.index(label)] for label in fitted.location.fixed)
    figures = _figures(fitted, internal, kept, math.exp(scales[0]))
    checks = check_maximum(fitted.gain, TOLERANCE, figures.covariance)
    notes = [*notes, *dropped_notes(scale.fixed, kept), *failures(checks)]
    converged = figures.converged and all(check.passed for check in checks)
    if converged and figures.singular:
        notes.append("singular fit: a variance or a correlation is at its limit")
    summary = in_given_units(scale, figures, internal.groups, rows=len(prepared.y))
    result = Result(
        summary, converged, "; ".join(notes), by="laplace", checks=checks, figures=figures
    )
    return Source(model, prepared, result, scale=tuple(scales), internal=scale)


def _internal(prepared: Prepared, link: str, is_positive: bool, has_units: bool) -> Internal:
    """Return the model with a standardised response, if the density's units are known."""
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
