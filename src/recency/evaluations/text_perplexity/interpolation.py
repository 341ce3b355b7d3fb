"""Two LMs as one: p = w p₁ + (1 - w) p₂, with the w that suits held-out text best (by EM)."""

from __future__ import annotations

import numpy as np

CLOSE = 1e-10


def weight(first: np.ndarray, second: np.ndarray) -> float:
    """Return w in [0, 1] of the first LM, from both LMs' nats of each word of held-out text.

    Each step of EM takes the mean share that the first has in the words' probabilities; the
    likelihood is concave in w, so that there is one best.
    """
    ratio = np.exp(np.clip(first - second, -700, 700))  # p₂ / p₁
    found, before = 0.5, -1.0
    while abs(found - before) > CLOSE:
        before = found
        found = float(np.mean(before / (before + (1 - before) * ratio)))
    return found


def interpolated(first: np.ndarray, second: np.ndarray, share: float) -> np.ndarray:
    """Return the nats of words under both LMs as one."""
    with np.errstate(divide="ignore"):
        return -np.logaddexp(np.log(share) - first, np.log1p(-share) - second)
