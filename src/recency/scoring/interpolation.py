"""Several LMs as one: p(word) = Σ_k λ_k p_k(word), with the shares λ that suit held-out text best (by EM)."""

from __future__ import annotations

import numpy as np

CLOSE = 1e-10


def best_shares(nats: np.ndarray) -> np.ndarray:
    """Return λ (LMs,), in [0, 1] and 1 together, from the nats (LMs, words) of held-out text.

    Each step of EM takes the mean share that an LM has in the words' probabilities (Jelinek &
    Mercer 1980); the likelihood is concave in λ, so that what is found is the best there is. Words
    that every LM takes for impossible say nothing.
    """
    nats = nats[:, np.isfinite(nats).any(0)]
    ratios = np.exp(nats.min(0) - nats)  # p of each LM over the largest
    found, before = np.full(len(nats), 1 / len(nats)), np.full(len(nats), -1.0)
    while np.abs(found - before).max() > CLOSE:
        before = found
        parts = before[:, None] * ratios
        found = (parts / parts.sum(0)).mean(1)
    return found


def mixed(nats: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the nats (words,) under the LMs as one; infinite where no LM with a share has a word."""
    least = nats.min(0)
    least[np.isinf(least)] = 0.0
    with np.errstate(divide="ignore"):
        return least - np.log(shares @ np.exp(least - nats))
