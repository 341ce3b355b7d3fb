"""The mean of the differences, divided by its cluster-robust standard error.

With clusters of unequal sizes or variances the unstudentised mean tests more than equal means: it
tests that swapping whole clusters leaves the distribution unchanged. The studentised mean has the
right size for equal means too, as the number of clusters grows [1]_. With clusters of equal size it
gives the same p value as the mean.

References
----------
.. [1] Chung, E., & Romano, J. P. (2013). Exact and asymptotically robust permutation tests. Annals of
   Statistics, 41(2), 484–507.
"""

import numpy as np


def columns(totals, sizes):
    """Return the clusters' totals, and the totals times the sizes."""
    return [totals, sizes * totals]


def value(sums, totals, sizes):
    """Return mean / standard error; infinite if all clusters have one mean, 0 for a mean of 0."""
    mean = sums[0] / sizes.sum()
    # Σ (total − size · mean)²: a permutation changes only the cross term and the mean.
    squares = (totals**2).sum() - 2 * mean * sums[1] + mean**2 * (sizes**2).sum()
    rounding = 1e-12 * (totals**2).sum()
    error = np.sqrt(np.where(squares > rounding, squares, 0.0)) / sizes.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / error)
