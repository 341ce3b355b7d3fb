"""Poisson: counts whose log mean is eta; the canonical link belongs to the density."""

import numpy as np
from scipy.special import gammaln

PREDICTORS = ("eta",)
LINKS = ("identity",)
POSITIVE = False


def log_density(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return log p(y) (n,) for eta (n, 1)."""
    return y * eta[:, 0] - np.exp(eta[:, 0]) - gammaln(y + 1)


def derivatives(y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient (n, 1) and the Hessian (n, 1, 1)."""
    mean = np.exp(eta)
    return y[:, None] - mean, -mean[:, :, None]


def linked(y: np.ndarray) -> np.ndarray:
    """Return finite log means (n,) near the responses, from which a search starts."""
    return np.log(y + 0.1)


def log_constant(y: np.ndarray, weights: np.ndarray) -> float:
    """Return 0: a weight counts repetitions of a row."""
    return 0.0


def expectation(eta: np.ndarray) -> np.ndarray:
    """Return the mean (n,)."""
    return np.exp(eta[:, 0])


def draw(random: np.random.Generator, eta: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Draw counts (n,)."""
    return random.poisson(expectation(eta)) * 1.0
