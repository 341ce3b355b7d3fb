"""The C library's heap, from which every step of a job takes what the step before gave back."""

from __future__ import annotations

import ctypes
import sys

#: glibc's mallopt(3): numbers of its settings, and the largest values that it takes.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST = {M_MMAP_THRESHOLD: 32 << 20, M_TRIM_THRESHOLD: 2**31 - 1}


def keep_freed() -> None:
    """Have glibc keep freed memory for this process; do nothing where there is another C library.

    It gives large pieces back to the system, depending on what lies beside them, and every page of
    them that is taken again is a fault: a quarter of a step of a recurrent LM, half of one of a loop that
    holds all logits. At its peak a process takes a hundredth more memory.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        for setting, value in LARGEST.items():
            mallopt(setting, value)
