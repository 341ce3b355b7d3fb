"""PyTorch's settings for the CPU."""

import functools
import sys
from pathlib import Path

import torch


def use(threads: int) -> None:
    """Set the number of threads, and flush numbers below 1e-38 (2e-308 in float64) to 0.

    Attention with a recency bias has such weights (e⁻¹⁰⁰ 400 words back at ALiBi's slope of 1/4), and
    products with denormal numbers take an Intel processor four times as long: a fifth of a training
    step. Call it before PyTorch starts threads, which inherit the setting.
    """
    torch.set_flush_denormal(True)
    torch.set_num_threads(threads)


@functools.cache
def by_intel() -> bool:
    """Return whether the processor is by Intel, as far as the system reports it."""
    cpuinfo = Path("/proc/cpuinfo")
    return sys.platform == "linux" and cpuinfo.exists() and "GenuineIntel" in cpuinfo.read_text()
