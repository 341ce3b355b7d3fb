"""Examples in docstrings of the public modules run, and show what they say."""

import doctest
import importlib

import pytest

MODULES = [
    "crosslmm.likelihood_ratio",
    "crosslmm.model",
    "crosslmm.stats.multiple_tests",
    "crosslmm.stats.permutation",
    "crosslmm.stats.proportions",
]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert found.attempted and not found.failed
