"""Designs of the config: the formula of a regression, all its names checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recency.errors import InputError
from recency.mixed import additive
from recency.mixed import formula as formulas
from recency.mixed.additive import Additive
from recency.mixed.families import BINOMIAL, FAMILIES, GAUSSIAN
from recency.mixed.formula import Formula, check, without
from recency.reading.contracts import EVENT, RESPONSES
from recency.regression.predictors import CATEGORICAL, EXTRA, GROUPS, PREDICTORS, SURPRISAL

CHOICES = {
    "base": ("fixed", "all"),
    "engine": ("cross_products", "lme4", "ols", "gam"),
    "response": ("raw", "log"),
    "surprisal": tuple(SURPRISAL),
}


def parse(text: str, mixed: bool = True) -> Formula:
    """Read a formula of times or amplitudes; a mixed model has random terms, any other none."""
    formula = formulas.parse(text)
    _check_response(formula.response, text)
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


def _check_response(response: str, text: str) -> None:
    if response not in (*RESPONSES, EVENT):
        raise InputError(
            f"formula {text!r}: the left side is {response!r} and must be "
            f"{' or '.join((*RESPONSES, EVENT))} (for the logarithm of a time set `response: log` "
            "in the design)"
        )


def formula_of(design: Mapping[str, Any], model: str) -> Formula | Additive:
    """Return the formula of a model, all its names checked.

    It is the full one, the base, or, of an additive model, the one with lines in place of smooths.
    """
    for key, choices in CHOICES.items():
        if design[key] not in choices:
            raise InputError(
                f"design: {key} is {design[key]!r} and must be one of {', '.join(choices)}"
            )
    models = ("full", "base", *(("linear",) if design["engine"] == "gam" else ()))
    if model not in models:
        raise InputError(f"model is {model!r} and must be {' or '.join(map(repr, models))}")
    if design["engine"] == "gam":
        formula = additive.parse(design["formula"], GROUPS)
        _check_response(formula.response, design["formula"])
    else:
        formula = parse(design["formula"], mixed=design["engine"] != "ols")
    check_family(design, formula.response)
    if design["response"] == "log" and formula.response == "amplitude_uv":
        raise InputError(
            f"design: {formula.response} has no logarithm, since amplitudes are below 0 as well; "
            "set `response: raw` in the design"
        )
    check(formula, (*PREDICTORS, *EXTRA, *CATEGORICAL), GROUPS)
    slopes = design["base"] == "all"
    if isinstance(formula, Additive):
        if model == "linear":
            return additive.linear(formula, design["of_interest"])
        base = additive.without(formula, design["of_interest"], slopes)
    else:
        base = without(formula, design["of_interest"], slopes)
    return formula if model == "full" else base


def check_family(design: Mapping[str, Any], response: str) -> None:
    """Raise an InputError unless family, engine and response go together."""
    family = design.get("family", GAUSSIAN)
    if family not in FAMILIES:
        raise InputError(f"design: family is {family!r} and must be one of {', '.join(FAMILIES)}")
    if (family == BINOMIAL) != (response == EVENT):
        raise InputError(
            f"design: the left side is {response} and the family {family}; `family: binomial` and "
            f"'{EVENT} ~ …' go together"
        )
    if family == BINOMIAL and design["engine"] not in ("lme4", "gam"):
        raise InputError(
            f"design: engine {design['engine']} fits no binomial family; write `engine: lme4` "
            "(glmer) or `engine: gam`"
        )
    if family == BINOMIAL and design["response"] != "raw":
        raise InputError("design: events have no logarithm; set `response: raw`")


def check_mixed(design: Mapping[str, Any], what: str) -> None:
    """Raise an InputError unless a design is a linear mixed model, which `what` alone covers."""
    family = design.get("family", GAUSSIAN)
    if design["engine"] not in ("cross_products", "lme4") or family != GAUSSIAN:
        raise InputError(
            f"{what} is of linear mixed models, and the design has `engine: {design['engine']}`, "
            f"family {family}; take one of `engine: cross_products`"
        )
