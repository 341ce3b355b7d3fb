"""The distance between two engines' figures of one model at one theta."""

import numpy as np

from crosslmm.internal import Figures


def distance(ours: Figures, theirs: Figures) -> float | None:
    """Return the largest standardised difference between two sets of figures at one theta.

    Fixed effects are compared in standard errors, standard errors and the random effects' sds as
    ratios, conditional modes in sds of their column, log-likelihoods in nats. None if different
    columns were dropped, so that no comparison is possible.
    """
    if ours.kept != theirs.kept:
        return None
    se = np.sqrt(np.diagonal(theirs.covariance))
    differences = [
        np.array([ours.loglik - theirs.loglik, ours.sigma / theirs.sigma - 1]),
        (ours.beta - theirs.beta) / se,
        np.sqrt(np.diagonal(ours.covariance)) / se - 1,
    ]
    for L, modes, other, its in zip(ours.Ls, ours.modes, theirs.Ls, theirs.modes, strict=True):
        sd = theirs.sigma * np.sqrt((other**2).sum(1))
        scale = np.maximum(sd, 1e-3 * theirs.sigma)
        differences.append((ours.sigma * np.sqrt((L**2).sum(1)) - sd) / scale)
        differences.append(np.abs((modes - its) / scale).max(0))
    return float(max(np.abs(part).max() for part in differences if len(part)))
