"""Docstrings of the reference: every argument has its description, and examples show what they say."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

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


def referenced():
    """Yield each function and method of docs/api.md, with its name."""
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
    for name in re.findall(r"^::: ([\w.]+)", page, re.MULTILINE):
        module, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        if inspect.isfunction(found):
            yield name, found
            continue
        for method, each in vars(found).items():
            if inspect.isfunction(each) and not method.startswith("_"):
                yield f"{name}.{method}", each


@pytest.mark.parametrize(
    ("name", "function"), [pytest.param(*each, id=each[0]) for each in referenced()]
)
def test_every_argument_is_described(name, function):
    text = inspect.getdoc(function)
    asked = [
        each for each in inspect.signature(function).parameters.values() if each.name != "self"
    ]
    described = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", text, re.DOTALL | re.MULTILINE)
    lines = re.findall(r"^(\S.*?)(?: :.*)?$", described[1] if described else "", re.MULTILINE)
    names = [part.strip().lstrip("*") for line in lines for part in line.split(",")]
    assert names == [each.name for each in asked]
    returned = inspect.signature(function).return_annotation
    assert ("\nReturns\n" in text) == (returned not in (None, "None"))
