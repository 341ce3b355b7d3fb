"""What the C library does with memory that a process frees."""

import ctypes
import sys

#: glibc's mallopt(3): numbers of settings, and values by which freed memory is kept.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4
KEPT = {M_TRIM_THRESHOLD: 2**31 - 1, M_MMAP_THRESHOLD: 32 << 20}


def keep_freed(large: bool = False) -> None:
    """Have glibc keep freed memory for this process; do nothing where there is another C library.

    It gives large pieces back to the system, depending on what lies beside them, and every page of
    them that is taken again is a fault: a quarter of a step of a recurrent LM. Pieces beyond 32 MB
    are the system's still, unless `large`, for work that takes the same ones over and over: they are
    3 to 8 % of a training step by this project's kernels. At its peak a process takes a hundredth more.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        for setting, value in (KEPT | ({M_MMAP_MAX: 0} if large else {})).items():
            mallopt(setting, value)
