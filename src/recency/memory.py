"""The memory that is free, without PyTorch."""

from pathlib import Path


def available() -> float:
    """Return the available memory in bytes; infinity if unknown."""
    meminfo = Path("/proc/meminfo")
    lines = meminfo.read_text(encoding="utf-8").splitlines() if meminfo.exists() else []
    sizes = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return sizes[0] if sizes else float("inf")
