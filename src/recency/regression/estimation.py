"""One regression fitted to the rows of a partition: the record of it that predictions are made from."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from recency.errors import InputError
from recency.mixed import families, mgcv
from recency.mixed.additive import Additive
from recency.mixed.fitting import Result, figures, fit_model
from recency.mixed.formula import Formula
from recency.mixed.least_squares import criteria, fit_least_squares
from recency.mixed.recorded import scaled, scaling_of
from recency.mixed.summary import FitSummary
from recency.regression import categories
from recency.regression.coding import NOTHING, Coding
from recency.regression.confirmation import ROWS
from recency.regression.predictors import Rows
from recency.regression.texts import Texts

HISTOGRAM = 60
"""Bins in which the record of an additive model counts the values of a smooth's predictor."""


def estimate(
    formula: Formula | Additive,
    texts: Texts,
    rows: Rows,
    design: Mapping[str, Any],
    coding: Coding = NOTHING,
    confirm: bool = True,
) -> tuple[dict[str, Any], FitSummary | None]:
    """Fit a design's formula to rows with raw predictors; return its record and its figures.

    The record is JSON's but for NumPy's numbers. A model that cannot be fitted has no figures, and
    `converged` false with the reason in `note`. With `confirm` lme4 confirms what was searched.
    """
    family = design.get("family", families.GAUSSIAN)
    check_events(rows, family)
    if isinstance(formula, Additive):
        return _additive(formula, texts, rows, family, coding)
    formula, scaling, references = prepared(formula, texts, rows, coding)
    predictors = scaled(rows.predictors, scaling)
    if design["engine"] == "ols":
        summary, notes = fit_least_squares(formula, predictors, rows.y)
        found = summary if summary.converged else None
        result = Result(found, summary.converged, "; ".join(notes), by="least squares")
    else:
        confirm = confirm and len(rows.y) <= ROWS
        result = fit_model(
            formula, predictors, rows.y, rows.groups, design["engine"], family, confirm
        )
    record = {"formula": str(formula), "scaling": scaling, **figures(result)}
    if family != families.GAUSSIAN:
        record["family"] = family
    if references:
        record["reference"] = references
    if design["engine"] == "ols" and result.summary:
        record |= criteria(result.summary, len(rows.y))
    return record, result.summary


def prepared(
    formula: Formula, texts: Texts, rows: Rows, coding: Coding = NOTHING
) -> tuple[Formula, dict[str, dict[str, float]], dict[str, str]]:
    """Return a formula with indicators for categories, its scaling, and the reference categories."""
    references = categories.references(formula, texts, rows.predictors, coding)
    formula = categories.expand(formula, texts, rows.predictors, references, coding)
    scaling = categories.unscaled(scaling_of(rows.predictors), formula, texts, coding)
    return formula, scaling, references


def check_events(rows: Rows, family: str) -> None:
    """Raise an InputError where events are not 0 and 1, or all the same."""
    if family != families.BINOMIAL:
        return
    found = set(np.unique(rows.y))
    if not found <= {0.0, 1.0}:
        raise InputError(f"a binomial response is 0 or 1, and one is {max(found):g}")
    if len(found) < 2:
        which = "every" if 1.0 in found else "no"
        raise InputError(
            f"the event happens in {which} one of {len(rows.y):,} observations; do the measure's "
            "filters leave one kind alone, such as `time_ms > 0` for skipping?"
        )


def _additive(
    formula: Additive, texts: Texts, rows: Rows, family: str, coding: Coding
) -> tuple[dict[str, Any], FitSummary | None]:
    """Fit an additive model; its predictors are not scaled, so that smooths are in their units."""
    if categorical := categories.indicators(formula, texts, coding):
        raise InputError(
            f"the formula has {min(categorical)!r}, a categorical predictor, which `engine: gam` "
            "does not cover here; leave it out"
        )
    if coding.spans:
        raise InputError(
            f"the formula has {min(coding.spans)}, and `engine: gam` takes columns as they are here; "
            "let a smooth such as s(cloze) find its shape"
        )
    names = formula.predictors
    fit = mgcv.fit_additive(formula, rows.predictors, rows.y, rows.groups, family)
    converged = fit.summary is not None and fit.summary.converged
    record = {
        "formula": str(formula),
        "scaling": {name: {"mean": 0.0, "sd": 1.0} for name in names},
        **figures(Result(fit.summary, converged, fit.note, by="mgcv")),
        **fit.criteria,
        "smooths": fit.smooths,
        "predictors": {name: _described(rows.predictors[name]) for name in names},
        "mgcv": fit.packed,
        "discrete": fit.discrete,
    }
    if family != families.GAUSSIAN:
        record["family"] = family
    return record, fit.summary


def _described(values: np.ndarray) -> dict[str, Any]:
    """Return the mean of a predictor (n,) and how often its values are in each of HISTOGRAM bins."""
    counts, edges = np.histogram(values, HISTOGRAM)
    return {
        "mean": float(values.mean()),
        "least": float(edges[0]),
        "most": float(edges[-1]),
        "counts": counts.tolist(),
    }
