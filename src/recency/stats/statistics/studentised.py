"""The mean of the differences, divided by its cluster-robust standard error.

With clusters of unequal sizes or variances the mean by itself tests more than equal means: that swaps
of whole clusters change no distribution. The studentised mean has the right size for equal means
too, as the number of clusters grows [1]_. With clusters of one size it gives the p value of the mean.

References
----------
.. [1] Chung, E., & Romano, J. P. (2013). Exact and asymptotically robust permutation tests. Annals of
   Statistics, 41(2), 484–507.
"""

import numpy as np


def columns(totals, sizes):
    """Return the clusters' totals, and these times the sizes."""
    return [totals, sizes * totals]


def value(sums, totals, sizes):
    """Return mean / standard error; infinite where all clusters have one mean, 0 for a mean of 0."""
    mean = sums[0] / sizes.sum()
    # Σ (total − size · mean)², of which a permutation changes the cross term and the mean.
    squares = (totals**2).sum() - 2 * mean * sums[1] + mean**2 * (sizes**2).sum()
    rounding = 1e-12 * (totals**2).sum()
    error = np.sqrt(np.where(squares > rounding, squares, 0.0)) / sizes.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / error)
