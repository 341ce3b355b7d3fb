"""Interpolate LMs: p(word) = Σ_k λ_k p_k(word), with maximum-likelihood shares λ on held-out text.

The optimum is that of EM (Jelinek & Mercer 1980). EM converges slowly where an LM is redundant, as
5-grams are next to the same 5-grams with a cache, because its share then falls as 1 / steps. The
shares are therefore estimated by Newton steps under λ ≥ 0 (Kim, Carbonetto, Stephens & Anitescu
2020).
"""

import numpy as np

#: The search ends when better shares can gain at most CLOSE nats per word, or after STEPS steps.
CLOSE = 1e-12
STEPS = 200
#: Makes the problem definite where LMs are identical.
RIDGE = 1e-12
#: Least share of an LM: it may be the only one with a word of another text in its vocabulary.
LEAST = 1e-6


def estimate_shares(nats: np.ndarray) -> np.ndarray:
    """Estimate the shares λ (LMs,), which are positive and sum to 1.

    `nats` (LMs, words) is the surprisal of held-out text. The likelihood is concave in λ, so the
    optimum is global. Words with p = 0 under every LM are ignored.
    """
    nats = nats[:, np.isfinite(nats).any(0)]
    ratios = np.exp(nats.min(0) - nats)  # p of each LM divided by the largest
    shares = np.full(len(nats), 1 / len(nats))
    for _ in range(STEPS):
        parts = ratios / (shares @ ratios)
        slopes = parts.mean(1)  # gradient of the mean log p: 1 at the optimum, less where λ = 0
        if slopes.max() - 1 < CLOSE:
            break
        shares, before = _newton_step(ratios, shares, parts, slopes), shares
        if (shares == before).all():
            break
    shares = np.maximum(shares, LEAST)
    return shares / shares.sum()


def _newton_step(ratios, shares, parts, slopes) -> np.ndarray:
    """Return the shares after one Newton step, halved until the likelihood increases."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    curvature = parts @ parts.T / parts.shape[1]
    root = np.linalg.cholesky(curvature + RIDGE * np.eye(len(shares)))
    wanted = curvature @ shares + slopes - 1  # the sum of the shares is a penalty
    target, _ = nnls(root.T, solve_triangular(root, wanted, lower=True))
    length = 1.0
    while length > 1e-9:
        there = shares + length * (target - shares)
        there /= there.sum()
        with np.errstate(divide="ignore"):
            if np.log(there @ ratios).mean() > np.log(shares @ ratios).mean():
                return there
        length /= 2
    return shares


def mix_nats(nats: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the surprisal (words,) of the interpolated LM in nats, infinite where p = 0."""
    least = nats.min(0)
    least[np.isinf(least)] = 0.0
    with np.errstate(divide="ignore"):
        return least - np.log(shares @ np.exp(least - nats))
