"""The benchmark of large mixed models, on few rows: every figure is there, and peers find the same optimum."""

import json
import subprocess
import sys

import pytest

from project import ROOT

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(tmp_path):
    file, kept = ROOT / "benchmarks" / "large_models.py", tmp_path / "b"
    command = [sys.executable, file, "--quick", "--out", kept]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    printed = json.loads(done.stdout.splitlines()[-1])
    assert printed == json.loads(kept.read_text())
    metrics = printed["metrics"]
    for shape in ("many_groups", "unequal", "larger"):
        assert metrics[f"{shape}_seconds"] > 0
    for peer in ("mixedlm", "mixedlm_rs"):
        found = metrics.get(f"many_groups_loglik_minus_{peer}")
        assert found is None or abs(found) < 1e-3
        assert (found is None) == (f"many_groups_{peer}_absent" in metrics)
