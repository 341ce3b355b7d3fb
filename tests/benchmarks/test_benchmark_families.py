"""The benchmark of families, on small data: every figure is there."""

import json
import subprocess
import sys

import pytest

from project import ROOT

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(tmp_path):
    script = ROOT / "benchmarks" / "families.py"
    command = [sys.executable, script, "--quick", "--out", tmp_path / "b"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    printed = json.loads(done.stdout.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    missing = set(printed["targets"]) - set(printed["metrics"])
    # glmmTMB is optional, and what it is compared in is reported as absent.
    assert not missing or missing == {
        f"{name}_ratio_vs_glmmtmb" for name in ("gamma", "location_scale")
    }
    assert printed["metrics"]["gamma_s"] > 0
    assert abs(printed["metrics"].get("gamma_loglik_minus_glmmtmb", 0)) < 1e-3
