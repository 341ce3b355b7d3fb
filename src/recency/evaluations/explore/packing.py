"""Numeric columns in a page: rounded, as 32-bit integers, compressed, in base64.

Columns whose numbers do not fit are stored as they are, with 64 bits each.
"""

import base64
import math
import zlib
from collections.abc import Sequence

import numpy as np

DIGITS = 5
"""Significant digits of a column's standard deviation."""
MISSING = -(2**31)
"""The integer that represents a missing value."""
SMALLEST = 1e-290
"""Columns of which no number is larger are stored as they are: their step would be 0."""


def step_of(values: np.ndarray, digits: int = DIGITS) -> float | None:
    """Return the power of ten to which values are rounded, 1 for whole numbers.

    It is the unit of the last of `digits` significant digits of the standard deviation, increased
    until every value fits into a 32-bit integer. Values from 2^31 on, and columns of nothing but
    tiny values, are not rounded: None.
    """
    there = values[np.isfinite(values)]
    largest = float(np.abs(there).max(initial=0.0))
    if largest >= -MISSING or 0 < largest < SMALLEST:
        return None
    if (there == np.round(there)).all():
        return 1.0
    spread = float(there.std())
    smallest = math.ceil(math.log10(largest)) - 9
    wanted = math.floor(math.log10(spread)) - digits + 1 if spread > 0 else smallest
    return 10.0 ** max(wanted, smallest)


def packed(values: Sequence[float] | np.ndarray, digits: int = DIGITS) -> dict:
    """Return a column (n,) as {n, step, data}; NaN and infinities are missing.

    `data` is base64 of deflated 32-bit integers, values over `step`: first the lowest byte of each,
    then the second, third and fourth, since equal high bytes compress well together. Without a step
    it has the values as 64-bit floating-point numbers, byte by byte in the same way.
    """
    column = np.asarray(values, dtype=np.float64)
    step, finite = step_of(column, digits), np.isfinite(column)
    if step is None:
        numbers = np.where(finite, column, np.nan).astype("<f8")
    else:
        whole = np.where(finite, np.round(np.where(finite, column, 0) / step), MISSING)
        numbers = whole.astype("<i4")
    planes = numbers.view(np.uint8).reshape(-1, numbers.itemsize).T
    data = base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")
    return {"n": len(column), "step": step, "data": data}


def unpacked(column: dict) -> np.ndarray:
    """Return the values (n,) of a packed column, NaN where missing."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(column["data"])), np.uint8)
    kind = np.dtype("<f8" if column["step"] is None else "<i4")
    numbers = np.ascontiguousarray(planes.reshape(kind.itemsize, -1).T).view(kind).ravel()
    if column["step"] is None:
        return numbers
    return np.where(numbers == MISSING, np.nan, numbers * column["step"])
