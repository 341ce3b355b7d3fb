"""Marks of contrasts, as in the thesis."""

import math

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"), (0.1, "."))


def mark(t: float, p: float) -> str:
    """Return X for a difference in the wrong direction, else . * ** *** by p, "" without t."""
    if math.isnan(t):
        return ""
    return "X" if t < 0 else next((stars for most, stars in STARS if p < most), "")
