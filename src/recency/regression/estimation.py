"""Fit one regression to the rows of a partition; return the record that predictions use."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from crosslmm import families, fit_formula
from crosslmm.factors import NotSearchable
from crosslmm.fitting import Result, criteria, figures, fit_least_squares, fit_model
from crosslmm.formula import Formula
from crosslmm.generalised import TOLERANCE, fit_generalised
from crosslmm.recorded import scaled, scaling_of
from crosslmm.referee import check_maximum, failures
from crosslmm.summary import FitSummary
from recency.errors import InputError
from recency.regression import categories, designs
from recency.regression.coding import NO_CODING, Coding
from recency.regression.confirmation import ROWS
from recency.regression.predictors import Rows
from recency.regression.texts import Texts


def estimate(
    formula: Formula,
    texts: Texts,
    rows: Rows,
    design: Mapping[str, Any],
    coding: Coding = NO_CODING,
    confirm: bool = True,
) -> tuple[dict[str, Any], FitSummary | None]:
    """Fit a design's formula to rows with raw predictors; return its record and its summary.

    The record is JSON except for NumPy numbers. A model that cannot be fitted has no summary, and
    `converged` is false with the reason in `note`. With `confirm`, lme4 confirms the fit.
    """
    family = design.get("family", families.GAUSSIAN)
    check_responses(rows, family)
    formula, scaling, references = prepared(formula, texts, rows, coding)
    predictors = scaled(rows.predictors, scaling)
    more: dict[str, Any] = {}
    if designs.has_density(design):
        result, more = _density(formula, predictors, rows, design)
    elif family == families.SHIFTED:
        result, more = _fit_shifted(formula, predictors, rows, design)
    elif design["engine"] == "ols":
        summary, notes = fit_least_squares(formula, predictors, rows.y)
        fitted_summary = summary if summary.converged else None
        result = Result(fitted_summary, summary.converged, "; ".join(notes), by="least squares")
    else:
        confirm = confirm and len(rows.y) <= ROWS
        result = fit_model(formula, predictors, rows.y, rows.groups, design["engine"], confirm)
    record = {"formula": str(formula), "scaling": scaling, **figures(result)}
    if family != families.GAUSSIAN:
        record["family"] = family
    record |= more
    if result.summary and families.is_linear(record):
        _, jacobian = families.transformed(record, rows.y)
        result.summary.loglik += float(jacobian.sum())
    if references:
        record["reference"] = references
    if design["engine"] == "ols" and result.summary:
        record |= criteria(result.summary, len(rows.y))
    return record, result.summary


def prepared(
    formula: Formula, texts: Texts, rows: Rows, coding: Coding = NO_CODING
) -> tuple[Formula, dict[str, dict[str, float]], dict[str, str]]:
    """Return a formula with indicators for categories, its scaling, and the reference levels."""
    references = categories.references(formula, texts, rows.predictors, coding)
    formula = categories.expand(formula, texts, rows.predictors, references, coding)
    scaling = categories.unscaled(scaling_of(rows.predictors), formula, texts, coding)
    return formula, scaling, references


def _fit_shifted(
    formula: Formula, predictors: Mapping[str, np.ndarray], rows: Rows, design: Mapping[str, Any]
) -> tuple[Result, dict[str, Any]]:
    """Fit log(y - shift), with the stated shift or one estimated by profile likelihood."""

    def fit(z: np.ndarray, confirm: bool = False) -> Result:
        return fit_model(formula, predictors, z, rows.groups, design["engine"], confirm=confirm)

    def loglik(z: np.ndarray) -> float:
        summary = fit(z).summary
        return summary.loglik if summary else -math.inf

    note, shift = "", design.get("shift")
    if shift is None:
        shift, note = fit_formula.profile_shift(loglik, rows.y)
    fit_formula.check(shift, rows.y)
    result = fit(np.log(rows.y - shift))
    if note:
        result.note = "; ".join(filter(None, [result.note, note]))
    return result, {"shift": float(shift)}


def _density(
    formula: Formula, predictors: Mapping[str, np.ndarray], rows: Rows, design: Mapping[str, Any]
) -> tuple[Result, dict[str, Any]]:
    """Fit by Laplace's approximation; return the location's result and the rest of the record."""
    family = design.get("family", families.GAUSSIAN)
    name = families.GAUSSIAN if family in families.LINEAR else family
    link = design.get("link", (*families.links(family), "identity")[0])
    more: dict[str, Any] = {}
    if family == families.SHIFTED:
        fit_formula.check(design["shift"], rows.y)
        more["shift"] = float(design["shift"])
    z, jacobian = families.transformed({"family": family, **more}, rows.y)
    try:
        fit = fit_generalised(name, link, formula, predictors, z, rows.groups)
    except (NotSearchable, np.linalg.LinAlgError) as reason:
        return Result(None, False, f"not fitted: {reason}"), more
    fit.location.loglik += float(jacobian.sum())
    checks = check_maximum(fit.gain, TOLERANCE, fit.location.covariance)
    converged = fit.location.converged and all(check.passed for check in checks)
    result = Result(fit.location, converged, "", by="laplace", checks=checks)
    if not converged:
        result.note = "; ".join(failures(checks))
    elif fit.location.singular:
        result.note = "singular fit: a variance or a correlation is at its limit"
    scale = figures(Result(fit.scale, result.converged, ""))
    more["density"] = {
        "name": name,
        "link": link,
        "scale": {key: scale[key] for key in ("fixed", "random", "ranef")} if fit.scale else None,
        "others": fit.others,
    }
    k = len(fit.location.fixed) + len(fit.location.theta) + len(scale["fixed"]) + len(fit.others)
    deviance = -2 * fit.location.loglik
    more |= {"aic": 2 * k + deviance, "bic": k * math.log(len(rows.y)) + deviance}
    return result, more


def check_responses(rows: Rows, family: str) -> None:
    """Raise an InputError if events are not 0 and 1 or all the same, or a time is not above 0."""
    if family != families.BINOMIAL:
        if family != families.LOGNORMAL and families.is_positive(family):
            _check_positive(rows, family)
        return
    values = set(np.unique(rows.y))
    if not values <= {0.0, 1.0}:
        raise InputError(f"a binomial response is 0 or 1, and one is {max(values):g}")
    if len(values) < 2:
        which = "every" if 1.0 in values else "no"
        raise InputError(
            f"the event happens in {which} one of {len(rows.y):,} observations; do the measure's "
            "filters leave one kind alone, such as `time_ms > 0` for skipping?"
        )


def _check_positive(rows: Rows, family: str) -> None:
    wrong = np.flatnonzero(rows.y <= 0)
    if len(wrong):
        subject, first = rows.groups["subject"], wrong[:3]
        listed = ", ".join(
            f"{rows.y[i]:g} (subject {subject.names[subject.codes[i]]}, word_id {rows.word[i]})"
            for i in first
        )
        raise InputError(
            f"family {family} needs responses above 0, and {len(wrong):,} of {len(rows.y):,} are not: "
            f"{listed}{' …' if len(wrong) > 3 else ''}; filter such rows out (`time_ms > 0`)"
        )
