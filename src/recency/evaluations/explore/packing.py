"""Numeric columns in a page: rounded, as integers, compressed, in base64."""

import base64
import math
import zlib
from collections.abc import Sequence

import numpy as np

DIGITS = 5
"""Significant digits of a column's standard deviation."""
MISSING = -(2**31)
"""The integer that represents a missing value."""


def step_of(values: np.ndarray, digits: int = DIGITS) -> float:
    """Return the power of ten to which values are rounded, 1 for whole numbers.

    It is the unit of the last of `digits` significant digits of the standard deviation, increased
    until every value fits into a 32-bit integer.
    """
    there = values[np.isfinite(values)]
    if not len(there) or (there == np.round(there)).all():
        return 1.0
    spread, largest = float(there.std()), float(np.abs(there).max())
    smallest = math.ceil(math.log10(largest)) - 9
    wanted = math.floor(math.log10(spread)) - digits + 1 if spread > 0 else smallest
    return 10.0 ** max(wanted, smallest)


def packed(values: Sequence[float] | np.ndarray, digits: int = DIGITS) -> dict:
    """Return a column (n,) as {n, step, data}; NaN and infinities are missing.

    `data` is base64 of deflated 32-bit integers, values over `step`: first the lowest byte of each,
    then the second, third and fourth, since equal high bytes compress well together.
    """
    column = np.asarray(values, dtype=np.float64)
    step, finite = step_of(column, digits), np.isfinite(column)
    whole = np.where(finite, np.round(np.where(finite, column, 0) / step), MISSING)
    planes = whole.astype("<i4").view(np.uint8).reshape(-1, 4).T
    data = base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")
    return {"n": len(column), "step": step, "data": data}


def unpacked(column: dict) -> np.ndarray:
    """Return the values (n,) of a packed column, NaN where missing."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(column["data"])), np.uint8)
    whole = np.ascontiguousarray(planes.reshape(4, -1).T).view("<i4").ravel()
    return np.where(whole == MISSING, np.nan, whole * column["step"])
