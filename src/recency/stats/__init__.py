"""Tests and intervals: permutation tests, bootstrap and Wilson intervals, Holm's correction."""

from recency.public import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__,
    {
        "PermutationTest": "recency.stats.permutation:PermutationTest",
        "holm": "recency.stats.multiple_tests:holm",
        "interval": "recency.stats.bootstrap:interval",
        "permutation_test": "recency.stats.permutation:permutation_test",
        "wilson": "recency.stats.proportions:wilson",
    },
)
