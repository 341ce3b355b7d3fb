"""Test statistics of paired permutation tests (`recency.stats.permutation`).

Each module here is a statistic, and another package can provide more (`recency.plugins`). A statistic is
a function of sums over clusters, in which a permutation changes the sign of a cluster's term. With the
totals of the differences in each cluster and the clusters' sizes, (clusters,) both, a module has

columns  `columns(totals, sizes)`: a list of the terms of each sum, (clusters,) each; they change
         their sign where the totals do
value    `value(sums, totals, sizes)`: the statistic, from such sums, numbers or (permutations,) each
"""
