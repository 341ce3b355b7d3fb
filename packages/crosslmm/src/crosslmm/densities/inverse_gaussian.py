"""Inverse Gaussian with mean mu and dispersion sigma^2: variance sigma^2 mu^3."""

import numpy as np

PREDICTORS = ("mu", "sigma")
LINKS = ("log", "identity")
POSITIVE = True
POWERS = (-0.5,)


def log_density(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return log p(y) (n,) for eta = (mu, log sigma)."""
    mu, log_sigma = eta.T
    deviance = (y - mu) ** 2 / (mu**2 * y)
    return -0.5 * (np.log(2 * np.pi * y**3) + 2 * log_sigma + deviance * np.exp(-2 * log_sigma))


def derivatives(y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient (n, 2) and the Hessian (n, 2, 2)."""
    mu, log_sigma = eta.T
    precision = np.exp(-2 * log_sigma)
    deviance = (y - mu) ** 2 / (mu**2 * y)
    by_mu = precision * (y - mu) / mu**3
    gradient = np.stack([by_mu, precision * deviance - 1], axis=-1)
    hessian = np.empty((len(y), 2, 2))
    hessian[:, 0, 0] = precision * (2 * mu - 3 * y) / mu**4
    hessian[:, 0, 1] = hessian[:, 1, 0] = -2 * by_mu
    hessian[:, 1, 1] = -2 * precision * deviance
    return gradient, hessian


def start(y: np.ndarray) -> np.ndarray:
    """Return the log of the dispersion's root (1,)."""
    return 0.5 * np.log([np.mean((y - y.mean()) ** 2 / (y.mean() ** 2 * y))])


def expectation(eta: np.ndarray) -> np.ndarray:
    """Return mu (n,)."""
    return eta[:, 0]
