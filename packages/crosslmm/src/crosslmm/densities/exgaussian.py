"""Ex-Gaussian with mean mu: N(mu - beta, sigma^2) plus an exponential variable with mean beta.

The parametrisation is that of brms. With x = y - mu and z = (x + beta) / sigma - sigma / beta,
log p(y) = -log beta + sigma^2 / (2 beta^2) - x / beta - 1 + log Phi(z).
"""

import numpy as np
from scipy.special import log_ndtr

PREDICTORS = ("mu", "sigma", "beta")
LINKS = ("identity", "log")
POSITIVE = False
POWERS = (1.0, 1.0)


def log_density(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return log p(y) (n,) for eta = (mu, log sigma, log beta)."""
    mu, log_sigma, log_beta = eta.T
    x, ratio = y - mu, np.exp(log_sigma - log_beta)
    z = (x + np.exp(log_beta)) * np.exp(-log_sigma) - ratio
    return -log_beta + 0.5 * ratio**2 - x * np.exp(-log_beta) - 1 + log_ndtr(z)


def derivatives(y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient (n, 3) and the Hessian (n, 3, 3)."""
    mu, log_sigma, log_beta = eta.T
    x, rate, ratio = y - mu, np.exp(-log_beta), np.exp(log_sigma - log_beta)
    scaled, inverse = (x + np.exp(log_beta)) * np.exp(-log_sigma), np.exp(-log_sigma)
    z = scaled - ratio
    hazard = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(z))
    slope = -hazard * (z + hazard)
    by_z = np.stack([-inverse, -scaled - ratio, 1 / ratio + ratio], axis=-1)
    gradient = hazard[:, None] * by_z
    gradient[:, 0] += rate
    gradient[:, 1] += ratio**2
    gradient[:, 2] += x * rate - 1 - ratio**2
    second = np.zeros((len(y), 3, 3))
    second[:, 0, 1] = second[:, 1, 0] = inverse
    second[:, 1, 1] = scaled - ratio
    second[:, 1, 2] = second[:, 2, 1] = ratio - 1 / ratio
    second[:, 2, 2] = 1 / ratio - ratio
    hessian = slope[:, None, None] * by_z[:, :, None] * by_z[:, None, :]
    hessian += hazard[:, None, None] * second
    hessian[:, 0, 2] -= rate
    hessian[:, 2, 0] -= rate
    hessian[:, 1, 1] += 2 * ratio**2
    hessian[:, 1, 2] -= 2 * ratio**2
    hessian[:, 2, 1] -= 2 * ratio**2
    hessian[:, 2, 2] += 2 * ratio**2 - x * rate
    return gradient, hessian


def start(y: np.ndarray) -> np.ndarray:
    """Return log sigma and log beta (2,) from the variance, half of it for each."""
    return np.log([y.std() / np.sqrt(2)] * 2)


def expectation(eta: np.ndarray) -> np.ndarray:
    """Return mu (n,)."""
    return eta[:, 0]
