"""Tests and intervals: permutation tests, bootstrap and Wilson intervals, Holm's correction."""

from crosslmm.public import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)
