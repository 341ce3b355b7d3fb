"""Designs of the config: the formula of a regression, all its names checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recency.errors import InputError
from recency.mixed import formula as formulas
from recency.mixed.formula import Formula, check, without
from recency.reading.contracts import RESPONSES
from recency.regression.predictors import CATEGORICAL, EXTRA, GROUPS, PREDICTORS, SURPRISAL

CHOICES = {
    "base": ("fixed", "all"),
    "engine": ("cross_products", "lme4", "ols"),
    "response": ("raw", "log"),
    "surprisal": tuple(SURPRISAL),
}


def parse(text: str, mixed: bool = True) -> Formula:
    """Read a formula of times or amplitudes; a mixed model has random terms, any other none."""
    formula = formulas.parse(text)
    if formula.response not in RESPONSES:
        raise InputError(
            f"formula {text!r}: the left side is {formula.response!r} and must be "
            f"{' or '.join(RESPONSES)} (for the logarithm of a time set `response: log` in the "
            "design)"
        )
    if mixed and not formula.random:
        raise InputError(
            f"formula {text!r} has no random term such as '(1 | subject)'; "
            "for least squares on subject means set `engine: ols` in the design"
        )
    if formula.random and not mixed:
        raise InputError(
            f"formula {text!r} has a random term, and `engine: ols` knows none; leave "
            f"{formula.random[0]} out or take the engine cross_products"
        )
    return formula


def formula_of(design: Mapping[str, Any], model: str) -> Formula:
    """Return the formula of the full or the base model, all its names checked."""
    for key, choices in CHOICES.items():
        if design[key] not in choices:
            raise InputError(
                f"design: {key} is {design[key]!r} and must be one of {', '.join(choices)}"
            )
    if model not in ("full", "base"):
        raise InputError(f"model is {model!r} and must be 'full' or 'base'")
    formula = parse(design["formula"], mixed=design["engine"] != "ols")
    if design["response"] == "log" and formula.response != "time_ms":
        raise InputError(
            f"design: {formula.response} has no logarithm, since amplitudes are below 0 as well; "
            "set `response: raw` in the design"
        )
    check(formula, (*PREDICTORS, *EXTRA, *CATEGORICAL), GROUPS)
    base = without(formula, design["of_interest"], slopes=design["base"] == "all")
    return formula if model == "full" else base
