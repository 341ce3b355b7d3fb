"""The mean of the differences, over all observations."""


def columns(totals, sizes):
    """Return the clusters' totals."""
    return [totals]


def value(sums, totals, sizes):
    """Return the mean difference, in the differences' unit."""
    return sums[0] / sizes.sum()
