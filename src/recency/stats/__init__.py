"""Tests and intervals: permutation tests, bootstrap and Wilson intervals, Holm's correction."""

import importlib

_PUBLIC = {
    "PermutationTest": "recency.stats.permutation:PermutationTest",
    "holm": "recency.stats.multiple_tests:holm",
    "interval": "recency.stats.bootstrap:interval",
    "permutation_test": "recency.stats.permutation:permutation_test",
    "wilson": "recency.stats.proportions:wilson",
}
"""Public name → where it is; imported when it is asked for."""

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
