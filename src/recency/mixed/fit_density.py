"""Fit a specified mixed model of a skewed response by Laplace's approximation."""

from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from recency.errors import InputError
from recency.mixed import families
from recency.mixed.factors import NotSearchable
from recency.mixed.fitting import Result, check_levels
from recency.mixed.formula import INTERCEPT, Formula
from recency.mixed.generalised import fit_generalised
from recency.mixed.lme4 import Refused
from recency.mixed.model_request import ModelRequest, Prepared
from recency.mixed.scaled_search import scale_fixed, scale_random
from recency.mixed.source import Source
from recency.mixed.summary import FitSummary


def fit_density(model: ModelRequest, prepared: Prepared, notes: list[str]) -> Source:
    """Fit centred and scaled columns, and convert the estimates to the original units."""
    link = model.link or families.links(model.family)[0]
    given = prepared.design.formula
    scaled, B = scale_fixed(given, prepared.columns)
    # Separate names, since the factors of a product are scaled differently from the product.
    labels = {c: c if c == INTERCEPT else f"fixed{number}" for number, c in enumerate(given.fixed)}
    columns = {labels[name]: values for name, values in scaled.items()}
    random, by_group = [], {}
    for number, term in enumerate(given.random):
        values, A = scale_random(term, prepared.columns)
        names = [c if c == INTERCEPT else f"random{number}.{n}" for n, c in enumerate(term.columns)]
        columns |= dict(zip(names, values, strict=True))
        random.append(replace(term, columns=tuple(names)))
        by_group.setdefault(term.group, []).append((term.columns, A))
    formula = Formula(given.response, tuple(labels.values()), tuple(random))
    try:
        check_levels(given, prepared.groups, len(prepared.y))
        fitted = fit_generalised(model.family, link, formula, columns, prepared.y, prepared.groups)
    except (Refused, NotSearchable, np.linalg.LinAlgError) as reason:
        raise InputError(f"formula {model.text!r} was not fitted: {reason}") from None
    summary = fitted.location
    original = {label: name for name, label in labels.items()}
    kept = [given.fixed.index(original[label]) for label in summary.fixed]
    B = B[np.ix_(kept, kept)]
    covariance = B @ summary.covariance @ B.T
    summary = replace(
        summary,
        fixed=dict(
            zip(
                (given.fixed[c] for c in kept),
                (B @ np.array(list(summary.fixed.values()))).tolist(),
                strict=True,
            )
        ),
        covariance=covariance,
        se=np.sqrt(np.diagonal(covariance)).tolist(),
        random={group: _spread(summary, group, terms) for group, terms in by_group.items()},
        modes={group: _modes(summary, group, terms) for group, terms in by_group.items()},
    )
    if dropped := [name for c, name in enumerate(given.fixed) if c not in kept]:
        notes = [*notes, f"fixed effects that depend on others were dropped: {', '.join(dropped)}"]
    if not summary.converged:
        gain = f"a step would raise the log-likelihood by {fitted.gain:.2g}"
        notes = [*notes, f"not converged: {gain}"]
    elif summary.singular:
        notes = [*notes, "singular fit: a variance or a correlation is at its limit"]
    scale = (*fitted.scale.fixed.values(), *fitted.others.values())
    result = Result(summary, summary.converged, "; ".join(notes), by="laplace")
    return Source(model, prepared, result, scale=scale)


def _spread(
    summary: FitSummary, group: str, terms: list[tuple[tuple[str, ...], np.ndarray]]
) -> dict:
    """Return columns, sd (k,) and correlation (k, k) of a group's effects in the original units."""
    of_scaled = summary.random[group]
    sd = np.array(of_scaled["sd"])
    correlation = np.nan_to_num(np.array(of_scaled["correlation"], dtype=float))
    A = block_diag(*(A for _, A in terms))
    covariance = A @ (correlation * np.outer(sd, sd)) @ A.T
    sd = np.sqrt(np.diagonal(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(sd, sd)
    np.fill_diagonal(correlation, 1.0)
    columns = [name for names, _ in terms for name in names]
    return {"columns": columns, "sd": sd.tolist(), "correlation": correlation}


def _modes(
    summary: FitSummary, group: str, terms: list[tuple[tuple[str, ...], np.ndarray]]
) -> dict[str, list[float]]:
    """Return the conditional modes of each level in the original units."""
    A = block_diag(*(A for _, A in terms))
    levels = summary.modes[group]
    values = np.array(list(levels.values())) @ A.T
    return dict(zip(levels, values.tolist(), strict=True))
