"""The packages without POSIX's modules, and in a code page without Greek, as on Windows."""

import os
import subprocess
import sys

import pytest

from project import ROOT

PATHS = {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path])}


def run(*arguments, **environment):
    """Run Python and return its errors, "" if there is none."""
    given = os.environ | PATHS | environment
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, check=False)
    return done.stderr.decode("cp1252") if done.returncode else ""


@pytest.mark.merge
def test_the_packages_need_nothing_that_windows_lacks():
    assert run("tests/public_api.py", PYTHONIOENCODING="cp1252", PYTHONUTF8="0") == ""


def test_an_import_of_a_module_of_posix_is_refused():
    code = "import builtins, public_api; builtins.__import__ = public_api.refuse_posix"
    message = "recency.devices imports fcntl, which Windows lacks"
    assert message in run("-c", f"{code}; import recency.devices")
