"""Several LMs as one: p(word) = Σ_k λ_k p_k(word), with the shares λ that suit held-out text best.

They are those that EM goes to (Jelinek & Mercer 1980). EM itself takes for ever where an LM is worth
nothing beside one that holds it already, 5-grams beside the same with a cache: its share falls as one
over the steps. So the shares are found by Newton's steps with none below 0 (Kim, Carbonetto, Stephens &
Anitescu 2020).
"""

import numpy as np

#: Nats a word that better shares could gain at most, where the search ends; and its steps at most.
CLOSE = 1e-12
STEPS = 200
#: Of LMs that are alike no share is better than another.
RIDGE = 1e-12
#: What an LM keeps that the held-out text has no use for: it may be the only one to know a word elsewhere.
LEAST = 1e-6


def best_shares(nats: np.ndarray) -> np.ndarray:
    """Return λ (LMs,), above 0 and 1 together, from the nats (LMs, words) of held-out text.

    The likelihood is concave in λ, so that what is found is the best there is. Words that every LM
    takes for impossible say nothing.
    """
    nats = nats[:, np.isfinite(nats).any(0)]
    ratios = np.exp(nats.min(0) - nats)  # p of each LM over the largest
    found = np.full(len(nats), 1 / len(nats))
    for _ in range(STEPS):
        parts = ratios / (found @ ratios)
        slopes = parts.mean(1)  # of the mean log p; at the best 1, or less where the share is 0
        if slopes.max() - 1 < CLOSE:
            break
        found, before = _stepped(ratios, found, parts, slopes), found
        if (found == before).all():
            break
    found = np.maximum(found, LEAST)
    return found / found.sum()


def _stepped(ratios, found, parts, slopes) -> np.ndarray:
    """Return the shares after one of Newton's steps, as long as the likelihood lets it be."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    curvature = parts @ parts.T / parts.shape[1]
    root = np.linalg.cholesky(curvature + RIDGE * np.eye(len(found)))
    wanted = curvature @ found + slopes - 1  # with the sum of shares as its price
    target, _ = nnls(root.T, solve_triangular(root, wanted, lower=True))
    length = 1.0
    while length > 1e-9:
        there = found + length * (target - found)
        there /= there.sum()
        with np.errstate(divide="ignore"):
            if np.log(there @ ratios).mean() > np.log(found @ ratios).mean():
                return there
        length /= 2
    return found


def mixed(nats: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the nats (words,) under the LMs as one; infinite where no LM with a share has a word."""
    least = nats.min(0)
    least[np.isinf(least)] = 0.0
    with np.errstate(divide="ignore"):
        return least - np.log(shares @ np.exp(least - nats))
