"""A plugin of pytest: folders of real data, for tests that skip without them, and warnings in lines."""

import os
from pathlib import Path

import pytest

from readingtimes.errors import warnings_in_lines

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


@pytest.fixture(autouse=True)
def _warnings_in_lines():
    """Show warnings of input on stderr, as commands and jobs do; `pytest.warns` takes them all the same."""
    with warnings_in_lines():
        yield
