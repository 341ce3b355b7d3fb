"""Check which models the endpoints of ΔLogLik cover (recency.endpoints)."""

from collections.abc import Mapping
from typing import Any

from crosslmm import families
from crosslmm.factors import Factor, NotSearchable, crossed_factors, nested_group
from crosslmm.formula import Formula
from recency.endpoints import CROSSED, ENDPOINTS
from recency.errors import REFUSALS, InputError
from recency.regression.designs import is_mixed, read

WAY_OUT = "; set `bootstrap: given_fits` in the experiment"


class NotCrossed(InputError):
    """A model or data that the crossed bootstrap does not cover; the message gives the reason."""


def factors_of(formula: Formula) -> tuple[Factor, Factor | None]:
    """Return the factor of subjects and, if there is one, the other factor of a model.

    Raises
    ------
    NotCrossed
        If there is no by-subject effect, a third grouping factor, or a nested one.
    """
    start = f"formula '{formula}': the crossed bootstrap"
    third = f"{start} resamples subjects, and covers no third grouping factor{WAY_OUT}"
    try:
        if nested_group(formula) is not None:
            raise NotCrossed(f"{start} covers no nested grouping factor{WAY_OUT}")
        factors = {factor.group: factor for factor in crossed_factors(formula)}
    except NotSearchable:
        several = any(":" in term.group for term in formula.random)
        why = f"{start} covers no nested grouping factor{WAY_OUT}"
        raise NotCrossed(why if several else third) from None
    subject = factors.pop("subject", None)
    if subject is None:
        raise NotCrossed(
            f"{start} resamples subjects, and no effect varies by subject; add '(1 | subject)'"
            f", or{WAY_OUT[1:]}"
        )
    return subject, next(iter(factors.values()), None)


def reason_not_crossed(design: Mapping[str, Any]) -> str:
    """Return why the crossed bootstrap does not cover a design; "" if it does."""
    if not is_mixed(design):
        return f"{_kind(design)}, is no linear mixed model, which the crossed bootstrap refits"
    try:
        factors_of(read(design))
    except NotCrossed as error:
        return str(error).removesuffix(WAY_OUT)
    except REFUSALS:
        return ""  # an invalid formula is reported elsewhere
    return ""


def reason_not_by_default(design: Mapping[str, Any], of_items: bool = False) -> str:
    """Return why the crossed endpoint is not the default of a design; "" if it is.

    Parameters
    ----------
    design : mapping
        The design.
    of_items : bool
        Whether the data are an experiment's items, whose stimuli are known to be crossed with readers.
    """
    if reason := reason_not_crossed(design):
        return reason
    try:
        _, other = factors_of(read(design))
    except REFUSALS:
        return ""  # an invalid formula is reported elsewhere
    nested = {"sentence", "item"} | ({"stimulus"} if of_items else set())
    if other is None or other.group in nested:
        return ""
    return (
        f"only the data show whether sentences are nested in levels of {other.group}; if they are, "
        "write `endpoint: crossed`"
    )


def problems(design: Mapping[str, Any], endpoint: str) -> str:
    """Return why a design does not have an endpoint; "" if it has."""
    if endpoint == CROSSED:
        return reason_not_crossed(design)
    covered = ENDPOINTS.get(endpoint)  # an unknown one is reported elsewhere
    if covered is None or not covered.mixed or is_mixed(design):
        return ""
    return (
        f"{_kind(design)}, has no such likelihood: it is of linear mixed models; write "
        "`endpoint: conditional`"
    )


def _kind(design: Mapping[str, Any]) -> str:
    return f"`engine: {design['engine']}`, family {design.get('family', families.GAUSSIAN)}"
