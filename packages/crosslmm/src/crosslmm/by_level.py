"""Products of small matrices, one for each level of a grouping factor, over all levels at once.

LAPACK takes one matrix a call, which costs more than the arithmetic where a factor has thousands of
levels with two or three effects each.
"""

import numpy as np

CLOSED = 3
"""Largest number of effects of a level whose matrices are computed element by element."""


def whiten(zz: np.ndarray, L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return T = C^-1 L' (levels, k, k), and log|C| (levels,), where C C' = I + L'Z'Z L.

    C is the lower Cholesky factor by level, `zz` Z'Z (levels, k, k), and L (k, k) is any square
    matrix. Raises numpy.linalg.LinAlgError if an element is not finite.
    """
    levels, k = len(zz), len(L)
    both = (L[:, None, :, None] * L[:, None, :]).reshape(k * k, k * k)
    inner = zz.reshape(levels, k * k) @ both
    inner[:, :: k + 1] += 1
    inner = inner.reshape(levels, k, k)
    if not 0 < k <= CLOSED:
        C = np.linalg.cholesky(inner)
        logs = np.log(np.diagonal(C, axis1=1, axis2=2)).sum(1)
        return np.linalg.inv(C) @ L.T, logs
    factor: dict[tuple[int, int], np.ndarray] = {}
    T, pivots = np.empty((levels, k, k)), np.ones(levels)
    for c in range(k):
        left = inner[:, c, c].copy()
        for d in range(c):
            left -= factor[c, d] ** 2
        if not (left > 0).all():
            raise np.linalg.LinAlgError("a level's matrix is not positive definite")
        pivots *= left
        root = 1 / np.sqrt(left)
        for r in range(c + 1, k):
            below = inner[:, r, c].copy()
            for d in range(c):
                below -= factor[r, d] * factor[c, d]
            factor[r, c] = below * root
        for column in range(k):
            value = np.full(levels, L[column, c])
            for d in range(c):
                value -= factor[c, d] * T[:, d, column]
            np.multiply(value, root, out=T[:, c, column])
    return T, np.log(pivots) / 2


def gram_by_level(values: np.ndarray) -> np.ndarray:
    """Return A'A (levels, k, k) for each level's A, of `values` (levels, m, k)."""
    levels, m, k = values.shape
    if not (0 < k <= CLOSED and m <= CLOSED):
        return values.transpose(0, 2, 1) @ values
    result = np.empty((levels, k, k))
    for c in range(k):
        for d in range(c + 1):
            total = values[:, 0, c] * values[:, 0, d]
            for row in range(1, m):
                total += values[:, row, c] * values[:, row, d]
            result[:, c, d] = result[:, d, c] = total
    return result
