"""Gaussian: y ~ N(mu, sigma^2); with predictors of sigma, a location-scale model."""

import numpy as np

PREDICTORS = ("mu", "sigma")
LINKS = ("identity", "log")
POSITIVE = False


def log_density(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return log N(y; mu, sigma^2) (n,) for eta = (mu, log sigma)."""
    mu, log_sigma = eta.T
    return -0.5 * np.log(2 * np.pi) - log_sigma - 0.5 * ((y - mu) * np.exp(-log_sigma)) ** 2


def derivatives(y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient (n, 2) and the Hessian (n, 2, 2)."""
    mu, log_sigma = eta.T
    precision = np.exp(-log_sigma)
    z = (y - mu) * precision
    gradient = np.stack([z * precision, z**2 - 1], axis=-1)
    hessian = np.empty((len(y), 2, 2))
    hessian[:, 0, 0] = -(precision**2)
    hessian[:, 0, 1] = hessian[:, 1, 0] = -2 * z * precision
    hessian[:, 1, 1] = -2 * z**2
    return gradient, hessian


def start(y: np.ndarray) -> np.ndarray:
    """Return the log of the standard deviation (1,)."""
    return np.log([y.std()])


def expectation(eta: np.ndarray) -> np.ndarray:
    """Return mu (n,)."""
    return eta[:, 0]
