"""`recency.lmer`: crosslmm's function, with warnings of columns that may be misread."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec

from crosslmm import model
from crosslmm.errors import InputError
from crosslmm.expressions import Uncovered, names, read, variables
from crosslmm.formula import parse
from readingtimes import frames

P = ParamSpec("P")


def _checked(fit: Callable[P, model.MixedModel]) -> Callable[P, model.MixedModel]:
    """Return a function that checks the columns of a formula before it fits it."""

    @wraps(fit)
    def lmer(*arguments: P.args, **options: P.kwargs) -> model.MixedModel:
        given = signature(fit).bind(*arguments, **options).arguments
        formula, data = given["formula"], frames.in_pandas(given["data"])
        if isinstance(formula, str) and hasattr(data, "columns"):
            used = [name for name in variables(formula) if name in data.columns]
            frames.warn_of(data, "data", used, set(used) - _numbers(formula, used))
        return fit(*arguments, **options)

    return lmer


def _numbers(formula: str, used: list[str]) -> set[str]:
    """Return the columns that a formula has as response, predictors or slopes; all if R reads it."""
    try:
        parsed = parse(formula)
        terms = [parsed.response, *parsed.predictors]
        return {name for term in terms for name in names(read(term))}
    except (Uncovered, InputError):
        return set(used)


lmer = _checked(model.lmer)
