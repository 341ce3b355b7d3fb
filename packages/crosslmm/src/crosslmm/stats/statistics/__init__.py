"""Test statistics of paired permutation tests (`crosslmm.stats.permutation`).

Each module here is a statistic, and another package can provide more (`crosslmm.plugins`). A
statistic is a function of sums over clusters, in which a permutation flips the sign of a cluster's
term. `totals` are the totals of the differences in each cluster and `sizes` the clusters' sizes,
both (clusters,). A module has

columns  `columns(totals, sizes)`: the terms of each sum, a list of (clusters,) arrays whose signs
         flip with those of the totals
value    `value(sums, totals, sizes)`: the statistic of such sums, numbers or (permutations,) arrays
"""
