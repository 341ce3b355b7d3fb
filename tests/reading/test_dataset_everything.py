"""All reading times that are here, read as the config says, within the memory of a small machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_published_counts import MEASURED, PAIRS

import read_everything

pytestmark = pytest.mark.merge

# Words and responses (all measures of the config together) of each corpus that is in the folder.
SIZES = {
    "provo": [2743, 1_218_050],
    "meco": [2108, 6324],
    "zuco": [17_335, 237_914],
    "zuco_means": [20_545, 61_635],
    "potec": [1895, 710_625],
    "maze": [2465, 40_877],
    "maze_spr": [2465, 46_560],
    "items_meco": [2108, 2096],
    "items_provo": [2714, 2659],
    "items_ucl": [1931, 1726],
    "items_ucl_spr": [1931, 1726],
    "items_brown": [7188, 6738],
    "items_natural_stories": [10_256, 9759],
    "devarda2024": [1931, 18_986],
}
MEGABYTES = 1500  # 328 are held


def test_every_parser_reads_its_real_data(shared_data):
    mirror = Path(os.environ.get("RECENCY_TEST_MIRROR", shared_data.parent / "mirror"))
    folders = [shared_data, *([mirror] if mirror.is_dir() else [])]
    command = [sys.executable, read_everything.__file__, *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert {name: found["read"].get(name) for name in SIZES} == SIZES
    if mirror.is_dir():
        assert found["read"]["ucl_spr"] == [4957, 353_584]
        assert found["read"]["ucl_eye_tracking"] == [1931, 162_218]
        assert found["read"]["natural_stories"] == [10_256, 113_467]
        texts = ("ucl_spr", "ucl_eye_tracking", "natural_stories")
        here = {name: found["characters"][name] for name in texts}
        assert here == {name: int(MEASURED[PAIRS[name]]["characters"]) for name in texts}
    assert found["memory"] < MEGABYTES
