"""The fixture that imports scripts of benchmarks/ for one test."""

import importlib
import sys

import pytest

from project import ROOT

FOLDER = str(ROOT / "benchmarks")


@pytest.fixture
def load_benchmark(monkeypatch):
    """Import a script by its name; afterwards it is gone, and what it did to the path.

    Benchmarks have modules named as packages that other tests compare with, such as `surprisal`.
    """
    monkeypatch.setattr(sys, "path", [FOLDER, *sys.path])
    yield importlib.import_module
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(FOLDER):
            del sys.modules[name]
