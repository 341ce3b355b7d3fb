"""Families of responses: their distribution about the mean, and their link.

Gaussian and lognormal models are linear mixed models of the response or its logarithm. The others are
densities of `crosslmm.densities`, fitted by Laplace's approximation, as is every model with a formula
of its scale.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from crosslmm import plugins

GAUSSIAN = "gaussian"
BINOMIAL = "binomial"
LOGNORMAL = "lognormal"
SHIFTED = "shifted_lognormal"
LINEAR = (GAUSSIAN, LOGNORMAL, SHIFTED)
"""Families that are fitted as linear mixed models, unless the scale has a formula."""
GENERALISED = (BINOMIAL, "poisson")
"""Families without a scale parameter, with the canonical link."""


def names() -> list[str]:
    """Return the families that a design can have."""
    there = plugins.names("crosslmm.densities")
    skewed = [name for name in there if name not in (GAUSSIAN, *GENERALISED)]
    return [*LINEAR, BINOMIAL, *skewed]


def density(family: str) -> ModuleType:
    """Return the module of a family that Laplace's approximation fits."""
    return plugins.load("crosslmm.densities", family)


def links(family: str) -> tuple[str, ...]:
    """Return the links of a family, its default first; none if there is no choice."""
    if family in (LOGNORMAL, SHIFTED, *GENERALISED):
        return ()
    return tuple(density(family).LINKS)


def scales(family: str) -> tuple[str, ...]:
    """Return the names of the scale parameters of a family that Laplace's approximation fits."""
    return tuple(density(family).PREDICTORS)[1:]


def is_positive(family: str) -> bool:
    """Return whether responses must be above 0."""
    if family in (LOGNORMAL, SHIFTED):
        return True
    return family not in GENERALISED and bool(density(family).POSITIVE)


def of(fit: Mapping[str, Any]) -> str:
    """Return the family of a fit's record."""
    return fit.get("family", GAUSSIAN)


def is_linear(fit: Mapping[str, Any]) -> bool:
    """Return whether a fit's record is of a linear model of the response or its logarithm."""
    return of(fit) in LINEAR and "density" not in fit


def transformed(fit: Mapping[str, Any], y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the transformed response of a linear model, and the log of the Jacobian.

    Parameters
    ----------
    fit
        The record of a fit.
    y
        Response (n,) as in the record; for the lognormal family, its logarithm.

    Returns
    -------
    tuple of arrays
        z (n,) with log p(y) = log p(z) + j in units of the untransformed response, and j (n,): 0
        for a Gaussian response, -log y for a lognormal one, -log(y - shift) for a shifted one. z is
        NaN, and j -inf, if a response is not above the shift.
    """
    if of(fit) == LOGNORMAL:
        return y, -y
    if of(fit) == SHIFTED:
        above = y - fit["shift"]
        z = np.log(above, where=above > 0, out=np.full(len(y), np.nan))
        return z, np.where(above > 0, -z, -np.inf)
    return y, np.zeros(len(y))
