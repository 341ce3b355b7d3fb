"""Plain data from pickles: numbers, texts, lists, dicts and NumPy arrays of these. Nothing in a file is run."""

import io
import pickle
from pathlib import Path

import numpy as np

from readingtimes.errors import InputError


def _dtype(*stated) -> np.dtype:
    """Return a dtype without Python objects."""
    made = np.dtype(*stated)
    if made.hasobject:
        raise pickle.UnpicklingError("an array of objects")
    return made


# NumPy's functions by the names in pickles of versions 1 and 2.
_SCALAR, _ARRAY = np.float64(0).__reduce__()[0], np.empty(0).__reduce__()[0]
_ALLOWED = {("numpy", "dtype"): _dtype, ("numpy", "ndarray"): np.ndarray}
for _core in ("numpy.core", "numpy._core"):
    _ALLOWED |= {
        (f"{_core}.multiarray", "scalar"): _SCALAR,
        (f"{_core}.multiarray", "_reconstruct"): _ARRAY,
    }


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str):
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it would import {module}.{name}")
        return _ALLOWED[module, name]


def is_pickle(data: bytes) -> bool:
    """Return whether the content of a file begins as pickles of protocol 2 or later do."""
    return data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def plain(path: Path, data: bytes):
    """Return the object in `data`, the content of `path`.

    Raises InputError for a pickle with anything but plain data, and for a damaged one.
    """
    try:
        return _Plain(io.BytesIO(data)).load()
    except Exception as error:  # a damaged pickle raises any
        what = str(error) or type(error).__name__
        raise InputError(f"{path}: not a pickle of plain data ({what}); fetch it again") from error
