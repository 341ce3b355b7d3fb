"""Imports of scripts of benchmarks/, for one test or a file of tests."""

import importlib
import sys

import pytest

from project import ROOT

FOLDER = str(ROOT / "benchmarks")


def import_benchmark(name):
    """Import a script, and those that it imports, for a file of tests."""
    path = list(sys.path)
    sys.path.insert(0, FOLDER)
    try:
        return importlib.import_module(name)
    finally:
        sys.path[:] = path


@pytest.fixture
def load_benchmark(monkeypatch):
    """Import a script by its name; afterwards it is gone, and what it did to the path.

    Benchmarks have modules named as packages that other tests compare with, such as `surprisal`.
    """
    monkeypatch.setattr(sys, "path", [FOLDER, *sys.path])
    before = set(sys.modules)
    yield importlib.import_module
    for name in sys.modules.keys() - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(FOLDER):
            del sys.modules[name]
