"""Fixtures: folders of real data that tests skip without."""

import os
import shutil
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


HEADERS = Path(sysconfig.get_path("include"), "Python.h")
needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") and HEADERS.exists()),
    reason=f"torch.compile needs g++ and Python's headers ({HEADERS}) here",
)


def _folder(variable: str, name: str) -> Path:
    folder = Path(os.environ.get(variable, ROOT.parent / "shared" / name))
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent; ${variable} can name such a folder of real data")
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real reading times and text, one folder per data set ($RECENCY_TEST_DATA)."""
    return _folder("RECENCY_TEST_DATA", "data")


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Original public files, laid out as <host>/<path> ($RECENCY_TEST_MIRROR)."""
    return _folder("RECENCY_TEST_MIRROR", "mirror")
