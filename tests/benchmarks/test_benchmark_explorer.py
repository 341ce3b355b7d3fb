"""The benchmark of the explorer, on a small study: every time is there, and is reported."""

import json
import subprocess
import sys

import pytest

from browsing import browser  # noqa: F401, a fixture
from project import ROOT

pytestmark = pytest.mark.merge


def test_every_time_is_printed(browser, tmp_path, capsys):  # noqa: F811
    path = ROOT / "benchmarks" / "explorer.py"
    command = [sys.executable, path, "--quick", "--out", tmp_path / "b"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    printed = json.loads(done.stdout.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert printed["targets"].keys() <= printed["metrics"].keys()
    assert all(value > 0 for value in printed["metrics"].values())
    with capsys.disabled():  # reported, and not judged: the machine may be busy
        print(f"\nexplorer: {printed['metrics']}, targets {printed['targets']}")
