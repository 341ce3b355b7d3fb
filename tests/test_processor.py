"""Numbers too small for a float are 0 in all of PyTorch's threads, and every job says so to PyTorch."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "recency"
PROGRAM = """
import torch
from recency import processor

processor.use(3)
small = torch.full((3_000_000,), 1e-30)
print(torch.get_num_threads(), (small * 1e-10).count_nonzero().item())
print((small[:1] * 1e-10).item(), (small[:1] * 1e-7).item() > 0)
"""


@pytest.mark.merge
def test_denormal_numbers_are_nothing_in_every_thread():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["3", "0", "0.0", "True"]


def test_no_job_sets_threads_by_itself():
    files = [path for path in SOURCE.rglob("*.py") if "set_num_threads" in path.read_text()]
    assert files == [SOURCE / "processor.py"]
