"""What `make test-faults` and `make test-slurm` run can be read: `make test` runs none of it."""

import importlib
from pathlib import Path

import pytest

FILES = sorted(
    [*Path(__file__).parent.glob("faults_*.py"), *Path(__file__).parent.glob("slurm_*.py")]
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_faults_is_imported(path):
    found = importlib.import_module(path.stem)
    assert any(name.startswith("test_") for name in vars(found)) and found.__doc__
