"""Start and scale of the search for theta, estimated for one grouping factor at a time.

For y = X b + Z u + e with one factor, V = I + Z Sigma Z', W_g = Z_g'V^-1 Z_g and s_g = Z_g'V^-1 (y
- X b), the expectation of s_g s_g' / sigma^2 under another Sigma~ is W_g + W_g (Sigma~ - Sigma)
W_g. Equating the sum over levels g with its observed value gives a linear system for Sigma~
(MINQUE, Rao 1971); iterating it is Fisher scoring. Since crossed factors are nearly orthogonal,
this comes close to the optimum without evaluating the whole deviance.
"""

from dataclasses import dataclass

import numpy as np

SWEEPS = 4
"""Iterations of the linear system; the search does the rest."""


@dataclass
class SingleFactor:
    """A factor's L (k, k), and the residual sd, for a model with this factor only."""

    L: np.ndarray
    sigma: float


def estimate_single(
    zz: np.ndarray, zw: np.ndarray, ww: np.ndarray, n: int, free: np.ndarray
) -> SingleFactor:
    """Estimate a factor from Z'Z (G, k, k), Z'W (G, k, p + 1) and W'W, where W = [X y].

    `free` (k, k) is true where an element of the lower triangle is free. No variance is below its
    standard error, so that L is invertible and no direction appears flat.
    """
    k, p = len(free), len(ww) - 1
    kept = free | free.T
    Sigma, L = np.zeros((k, k)), np.zeros((k, k))
    for _ in range(SWEEPS):
        T, half = eliminate(zz, L)
        half_w = T @ zw
        W = zz - half.transpose(0, 2, 1) @ half
        flat_w = half_w.reshape(-1, p + 1)
        left = ww - flat_w.T @ flat_w
        weights = np.append(-np.linalg.solve(left[:p, :p], left[:p, p]), 1.0)
        s = (zw - half.transpose(0, 2, 1) @ half_w) @ weights
        variance = weights @ left @ weights / n
        system = precision(W)  # times vec(Sigma~)
        right = s.T @ s / variance - W.sum(0) + (system @ Sigma.ravel()).reshape(k, k)
        index = np.flatnonzero(kept)
        Sigma = np.zeros((k, k))
        Sigma.flat[index] = np.linalg.lstsq(
            system[np.ix_(index, index)], right.flat[index], rcond=None
        )[0]
        Sigma = bound_from_below((Sigma + Sigma.T) / 2, system, free)
        L = np.linalg.cholesky(Sigma)
    return SingleFactor(L, float(np.sqrt(variance)))


def bound_from_below(Sigma: np.ndarray, expected: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return Sigma (k, k) with every variance at least its standard error, from its `precision`."""
    k = len(Sigma)
    values, vectors = np.linalg.eigh(Sigma)
    squares = (vectors[:, None] * vectors[None]).reshape(k * k, k)
    information = np.sum((expected @ squares) * squares, axis=0) / 2
    values = np.maximum(values, 1 / np.sqrt(np.maximum(information, 1e-8)))
    return np.where(free | free.T, (vectors * values) @ vectors.T, 0.0)


def eliminate(zz: np.ndarray, L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return T and T Z'Z (G, k, k), where Z'V^-1 Z is Z'Z - (T Z'Z)'T Z'Z at L (k, k)."""
    T = np.linalg.inv(np.linalg.cholesky(L.T @ zz @ L + np.eye(len(L)))) @ L.T
    return T, T @ zz


def precision(W: np.ndarray) -> np.ndarray:
    """Return the sum over levels of W kron W (k^2, k^2) for W = Z'V^-1 Z by level (G, k, k).

    This is the expected second derivative of the deviance by the relative covariance.
    """
    k = W.shape[1]
    flat = W.reshape(len(W), k * k)
    return (flat.T @ flat).reshape((k,) * 4).transpose(0, 3, 1, 2).reshape(k * k, k * k)


def precision_at(zz: np.ndarray, L: np.ndarray) -> np.ndarray:
    """Return `precision` of a single factor from its Z'Z (G, k, k), at L (k, k)."""
    _, half = eliminate(zz, L)
    return precision(zz - half.transpose(0, 2, 1) @ half)
