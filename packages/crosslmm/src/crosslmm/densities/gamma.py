"""Gamma with mean mu, coefficient of variation sigma, shape 1 / sigma^2, variance (sigma mu)^2."""

import numpy as np
from scipy.special import digamma, gammaln, polygamma

PREDICTORS = ("mu", "sigma")
LINKS = ("log", "identity")
POSITIVE = True
POWERS = (0.0,)


def log_density(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return log p(y) (n,) for eta = (mu, log sigma)."""
    mu, shape = eta[:, 0], np.exp(-2 * eta[:, 1])
    return shape * (np.log(shape * y / mu) - y / mu) - np.log(y) - gammaln(shape)


def derivatives(y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient (n, 2) and the Hessian (n, 2, 2)."""
    mu, shape = eta[:, 0], np.exp(-2 * eta[:, 1])
    ratio = y / mu
    by_shape = np.log(shape * ratio) - ratio + 1 - digamma(shape)
    by_mu = (ratio - 1) / mu
    gradient = np.stack([shape * by_mu, -2 * shape * by_shape], axis=-1)
    hessian = np.empty((len(y), 2, 2))
    hessian[:, 0, 0] = shape * (1 - 2 * ratio) / mu**2
    hessian[:, 0, 1] = hessian[:, 1, 0] = -2 * shape * by_mu
    hessian[:, 1, 1] = 4 * shape * (by_shape + 1 - shape * polygamma(1, shape))
    return gradient, hessian


def start(y: np.ndarray) -> np.ndarray:
    """Return the log of the coefficient of variation (1,)."""
    return np.log([y.std() / y.mean()])


def expectation(eta: np.ndarray) -> np.ndarray:
    """Return mu (n,)."""
    return eta[:, 0]
