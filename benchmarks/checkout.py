"""Where a benchmark takes the packages from: the sources of its own checkout."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ["src", "packages/crosslmm/src", "packages/readingtimes/src"]
PATHS = [str(ROOT / folder) for folder in SOURCES]


def use(*folders: str) -> None:
    """Put this checkout's sources, and further `folders` of it, in front of what is installed."""
    sys.path[:0] = [*PATHS, *(str(ROOT / folder) for folder in folders)]
