"""Binomial: events, 0 or 1, or shares of the weights' trials, whose log odds are eta.

The canonical link belongs to the density; shares need the log of the number of combinations, too.
"""

import numpy as np
from scipy.special import expit, gammaln, log_expit, logit

PREDICTORS = ("eta",)
LINKS = ("identity",)
POSITIVE = False


def log_density(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return log p(y) (n,) of one trial for eta (n, 1)."""
    return y * log_expit(eta[:, 0]) + (1 - y) * log_expit(-eta[:, 0])


def derivatives(y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient (n, 1) and the Hessian (n, 1, 1)."""
    p = expit(eta)
    return y[:, None] - p, -(p * expit(-eta))[:, :, None]


def linked(y: np.ndarray) -> np.ndarray:
    """Return finite log odds (n,) near the responses, from which a search starts."""
    return logit((y + 0.5) / 2)


def log_constant(y: np.ndarray, weights: np.ndarray) -> float:
    """Return the log of the number of ways to have these shares of the weights' trials."""
    successes = weights * y
    ways = gammaln(weights + 1) - gammaln(successes + 1) - gammaln(weights - successes + 1)
    return float(ways.sum())


def expectation(eta: np.ndarray) -> np.ndarray:
    """Return the probability (n,)."""
    return expit(eta[:, 0])


def draw(random: np.random.Generator, eta: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Draw shares (n,) of the weights' trials."""
    return random.binomial(weights.astype(int), expectation(eta)) / weights
