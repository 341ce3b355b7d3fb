"""Folders of real data, for tests that skip without them (a plugin of pytest)."""

import os
from pathlib import Path

import pytest

#: The folder that holds the project, or a checkout beside the data.
ROOT = Path(__file__).resolve().parents[3]


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
