"""The benchmark of several grouping factors, on small data: every figure is there."""

import json
import subprocess
import sys

import pytest

from project import ROOT

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(tmp_path):
    command = [
        sys.executable,
        ROOT / "benchmarks" / "several_factors.py",
        "--quick",
        "--out",
        tmp_path / "b",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    printed = json.loads(done.stdout.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert printed["targets"].keys() <= printed["metrics"].keys()
    assert printed["metrics"]["loglik_minus_lme4"] > -1e-3
