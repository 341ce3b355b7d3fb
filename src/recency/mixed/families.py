"""Families of responses: their distribution about the mean, and its link.

Gaussian and lognormal models are linear mixed models, of the response or its logarithm. Binomial (and
Poisson) ones are fitted by lme4's glmer(). The others are densities of `recency.mixed.densities`,
fitted by Laplace's approximation, as is every model with a formula of its scale.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from recency import plugins

GAUSSIAN = "gaussian"
BINOMIAL = "binomial"
LOGNORMAL = "lognormal"
SHIFTED = "shifted_lognormal"
LINEAR = (GAUSSIAN, LOGNORMAL, SHIFTED)
"""Families of which, without a formula of the scale, a linear mixed model is fitted."""
GENERALISED = (BINOMIAL, "poisson")
"""What `lmer` has glmer() fit, with the family's canonical link."""


def names() -> list[str]:
    """Return the families of a design."""
    skewed = [name for name in plugins.names("recency.mixed.densities") if name != GAUSSIAN]
    return [*LINEAR, BINOMIAL, *skewed]


def links(family: str) -> tuple[str, ...]:
    """Return the links of a family, its default first; none where there is no choice."""
    if family in (LOGNORMAL, SHIFTED, *GENERALISED):
        return ()
    return tuple(plugins.constant("recency.mixed.densities", family, "LINKS"))


def scales(family: str) -> tuple[str, ...]:
    """Return the names of the scale parameters of a family that Laplace's approximation fits."""
    return tuple(plugins.constant("recency.mixed.densities", family, "PREDICTORS"))[1:]


def is_positive(family: str) -> bool:
    """Whether responses must be above 0."""
    if family in (LOGNORMAL, SHIFTED):
        return True
    return family not in GENERALISED and bool(
        plugins.constant("recency.mixed.densities", family, "POSITIVE")
    )


def of(fit: Mapping[str, Any]) -> str:
    """Return the family of a fit's record."""
    return fit.get("family", GAUSSIAN)


def is_linear(fit: Mapping[str, Any]) -> bool:
    """Whether a fit's record is of a linear model, of the response or of its logarithm."""
    return of(fit) in LINEAR and "density" not in fit


def transformed(fit: Mapping[str, Any], y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the response that a linear model is of, and the log of the Jacobian.

    Parameters
    ----------
    fit
        The record of a fit.
    y
        Response (n,) as the record has it: of the family lognormal, its logarithm.

    Returns
    -------
    tuple of arrays
        z (n,) with log p(y) = log p(z) + j in units of the untransformed response, and j (n,): 0 of
        a Gaussian response, -log y of a lognormal one, -log(y - shift) of a shifted one. z is NaN,
        and j -inf, where a response is not above the shift.
    """
    if of(fit) == LOGNORMAL:
        return y, -y
    if of(fit) == SHIFTED:
        above = y - fit["shift"]
        z = np.log(above, where=above > 0, out=np.full(len(y), np.nan))
        return z, np.where(above > 0, -z, -np.inf)
    return y, np.zeros(len(y))


def bernoulli(y: np.ndarray, predictor: np.ndarray) -> np.ndarray:
    """Return log p(y) (n,) of events y, 0 or 1, whose log odds are `predictor`; natural logarithm."""
    from scipy.special import log_expit

    return np.where(y > 0.5, log_expit(predictor), log_expit(-predictor))
