"""How PyTorch computes on the processor of this process."""

import functools
import sys
from pathlib import Path

import torch


def use(threads: int) -> None:
    """Compute with so many threads, and take numbers below 1e-38 (2e-308 in float64) for 0.

    Attention that fades with distance weighs far words so, e⁻¹⁰⁰ 400 words back at ALiBi's slope of
    1/4, and products with such numbers take an Intel processor four times as long: a fifth of a
    training step. To be called before PyTorch starts threads, which inherit it.
    """
    torch.set_flush_denormal(True)
    torch.set_num_threads(threads)


@functools.cache
def by_intel() -> bool:
    """Say whether this is a processor by Intel, as far as the system tells."""
    known = Path("/proc/cpuinfo")
    return sys.platform == "linux" and known.exists() and "GenuineIntel" in known.read_text()


def available() -> float:
    """Return the bytes of memory that can be had without swapping; infinity where none says."""
    told = Path("/proc/meminfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else float("inf")
