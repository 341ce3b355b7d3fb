"""The endpoints by which LMs can be ranked: which log-likelihood ΔLogLik is a difference of.

An endpoint is a likelihood, and the observations that are scored by it. `crossed` is the default:
recency.regression.crossed scores all observations but the held-out ones by fits that have seen neither
their subject nor their sentence. The others score the exploratory partition by the fit to the
partition `fit` (recency.regression.likelihoods), or the fitted observations themselves.
"""

from collections.abc import Mapping
from typing import Any

from recency.errors import InputError
from recency.mixed import families
from recency.mixed.factors import Factor, NotSearchable, crossed_factors, nested_group
from recency.mixed.formula import Formula
from recency.regression.designs import read

KINDS = ("conditional", "marginal_subject", "marginal", "fixed_effects", "modelblocks")
"""The likelihoods of held-out observations; recency.mixed.likelihood defines them."""

CROSSED = "crossed"
IN_SAMPLE = "in_sample"
DEFAULT_ALONE = "conditional"
"""The endpoint of models that the crossed bootstrap does not cover."""
LIKELIHOODS = {CROSSED: "exploratory_crossed", "conditional": "exploratory"}
LIKELIHOODS |= {name: f"exploratory_{name}" for name in KINDS if name not in LIKELIHOODS}
LIKELIHOODS |= {IN_SAMPLE: "fit"}
"""Endpoint → its key under `loglik` of a fit's record; that of `crossed` is in files of its own."""
DRAWS = 500
"""Of the crossed bootstrap, unless an experiment states another number."""


class NotCrossed(InputError):
    """A model or data that the crossed bootstrap does not cover; the message says why."""


def factors_of(formula: Formula) -> tuple[Factor, Factor | None]:
    """Return the factor of subjects and the other one of a model that the bootstrap covers.

    Raises
    ------
    NotCrossed
        Where there is no by-subject effect, a third grouping factor, or a nested one.
    """
    way_out = "; set `bootstrap: given_fits` in the experiment"
    if nested_group_of(formula):
        raise NotCrossed(
            f"formula '{formula}': the crossed bootstrap covers no nested grouping factor{way_out}"
        )
    try:
        factors = {factor.group: factor for factor in crossed_factors(formula)}
    except NotSearchable:
        raise NotCrossed(
            f"formula '{formula}': the crossed bootstrap resamples subjects and sentences, and covers "
            f"no third grouping factor{way_out}"
        ) from None
    subject = factors.pop("subject", None)
    if subject is None:
        raise NotCrossed(
            f"formula '{formula}': the crossed bootstrap resamples subjects, and no effect varies by "
            f"subject; add '(1 | subject)', or{way_out[1:]}"
        )
    return subject, next(iter(factors.values()), None)


def nested_group_of(formula: Formula) -> str | None:
    """Return the nested grouping factor of a formula, if it has any."""
    try:
        return nested_group(formula)
    except NotSearchable:
        return "several"


def has_crossed(design: Mapping[str, Any]) -> str:
    """Say why the crossed bootstrap does not cover a design; "" where it does."""
    family = design.get("family", families.GAUSSIAN)
    if design["engine"] not in ("cross_products", "lme4") or family != families.GAUSSIAN:
        return (
            f"`engine: {design['engine']}`, family {family}, is no linear mixed model, which the "
            "crossed bootstrap refits"
        )
    try:
        factors_of(read(design))
    except NotCrossed as error:
        return str(error).partition("; set `bootstrap")[0]
    except InputError:
        return ""  # the formula itself is wrong, which is reported elsewhere
    return ""


def is_crossed_by_default(design: Mapping[str, Any]) -> bool:
    """Whether a design's second grouping factor is known to be the sentence, or a text of sentences.

    Whether another one is crossed with sentences only its data tell: there `endpoint: crossed` has to
    be stated.
    """
    if has_crossed(design):
        return False
    try:
        _, other = factors_of(read(design))
    except InputError:
        return True
    return other is None or other.group in ("sentence", "item")


def problems(design: Mapping[str, Any], endpoint: str) -> str:
    """Say why a design has no such endpoint; "" where it has."""
    if endpoint == CROSSED:
        return has_crossed(design)
    if endpoint in (DEFAULT_ALONE, IN_SAMPLE):
        return ""
    family = design.get("family", families.GAUSSIAN)
    if design["engine"] not in ("cross_products", "lme4") or family != families.GAUSSIAN:
        return (
            f"`engine: {design['engine']}`, family {family}, has no such likelihood: it is of linear "
            "mixed models; write `endpoint: conditional`"
        )
    return ""
