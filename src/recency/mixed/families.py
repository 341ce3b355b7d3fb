"""How a response is spread about its mean: what is predicted of it, and how likely it is."""

from collections.abc import Mapping
from typing import Any

import numpy as np

GAUSSIAN = "gaussian"
BINOMIAL = "binomial"
FAMILIES = (GAUSSIAN, BINOMIAL)
GENERALISED = (BINOMIAL, "poisson")
"""What `lmer` has glmer() fit, with the family's canonical link."""


def of(fit: Mapping[str, Any]) -> str:
    """Return the family of a fit's record."""
    return fit.get("family", GAUSSIAN)


def mean(family: str, predictor: np.ndarray) -> np.ndarray:
    """Return the mean (n,) of a response whose linear predictor is `predictor` (n,).

    binomial: the probability of 1, by the logistic function.
    """
    from scipy.special import expit  # slow to load, and a config is checked without

    return expit(predictor) if family == BINOMIAL else predictor


def bernoulli(y: np.ndarray, predictor: np.ndarray) -> np.ndarray:
    """Return log p(y) (n,) of events y, 0 or 1, whose log odds are `predictor`; natural logarithm."""
    from scipy.special import log_expit

    return np.where(y > 0.5, log_expit(predictor), log_expit(-predictor))
