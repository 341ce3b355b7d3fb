"""The benchmark of delayed effects, on small data: every figure is there, and bam finds the same."""

import json
import os
import subprocess
import sys

import pytest
from project import ROOT

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(tmp_path):
    command = [
        sys.executable,
        ROOT / "benchmarks" / "delays.py",
        "--quick",
        "--out",
        tmp_path / "b",
    ]
    path = os.pathsep.join([str(ROOT / ".tools" / "bin"), os.environ["PATH"]])
    environment = os.environ | {"PATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    printed = json.loads(done.stdout.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert printed["targets"].keys() <= printed["metrics"].keys()
    assert printed["metrics"]["largest_difference_ms"] < 0.5
