"""Data of SPSS (.sav) and Stata (.dta), whose values may be codes with labels."""

import struct
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from readingtimes.errors import InputError
from readingtimes.strict_tables import Table, as_text, warn

_SPSS = (b"$FL2", b"$FL3")
_OLD_STATA = range(104, 116)
_DAMAGE = (
    *(ValueError, OSError, MemoryError, LookupError, EOFError, struct.error),
    *(TypeError, AttributeError),
)


def is_spss(head: bytes) -> bool:
    """Return whether a file begins as one of SPSS."""
    return head[:4] in _SPSS


def is_stata(head: bytes) -> bool:
    """Return whether a file begins as one of Stata."""
    old = len(head) > 2 and head[0] in _OLD_STATA and head[1] in (1, 2) and head[2] == 1
    return head[:11] == b"<stata_dta>" or old


def read(path: Path, choose: Callable[[list[str]], list[str]]) -> Table:
    """Read the columns that `choose` selects; rows are known by their numbers.

    A value is its label where each value that occurs has one of its own, and its code otherwise: a
    label of some values is of a scale's ends or of what is missing. Missing values, the user's, too,
    are "".

    Raises
    ------
    InputError
        For a damaged file, and for one of SPSS without pyreadstat.
    """
    with open(path, "rb") as file:
        frame, labels = (_spss if is_spss(file.read(4)) else _stata)(path)
    if frame.empty:
        raise InputError(f"{path} has no rows")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    frame = frame[choose([*frame.columns])].set_axis(range(1, len(frame) + 1))
    labelled, coded = [], []
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
            frame[name] = column = column.astype("Int64")  # SPSS has no whole numbers
        if not (of := labels.get(name)):
            continue
        texts = column.map(of)
        own = len({*texts.dropna()}) == column.nunique()
        if own and texts.notna().sum() == column.notna().sum():
            frame[name] = texts
            labelled.append(name)
        else:
            coded.append(name)
    if labelled:
        warn(path, f"labels of values are read, not their codes: {', '.join(labelled)}")
    if coded:
        warn(path, f"codes are read, as not each value has a label of its own: {', '.join(coded)}")
    return Table(path, as_text(path, frame))


def _spss(path: Path) -> tuple[pd.DataFrame, dict[str, dict]]:
    """Return the data of SPSS, and column → code → label."""
    try:
        import pyreadstat
    except ImportError:
        raise InputError(
            f"{path}: an SPSS file needs pyreadstat "
            '(pip install "readingtimes[spss]"); or save it as CSV'
        ) from None
    try:
        frame, meta = pyreadstat.read_sav(str(path), user_missing=False)
    except (pyreadstat.ReadstatError, ValueError, OSError, MemoryError) as error:
        raise _damaged(path, "SPSS", error) from None
    return frame, meta.variable_value_labels


def _stata(path: Path) -> tuple[pd.DataFrame, dict[str, dict]]:
    """Return the data of Stata, and column → code → label."""
    try:
        frame = pd.read_stata(path, convert_categoricals=False)
        labels = {}
        for name in frame.columns:
            if pd.api.types.is_numeric_dtype(frame[name]):
                labels[name] = _stata_labels(path, frame[name])
    except _DAMAGE as error:
        raise _damaged(path, "Stata", error) from None
    return frame, labels


def _stata_labels(path: Path, codes: pd.Series) -> dict:
    """Return code → label of a column; a label of two codes is none of either."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of values without a label
            texts = pd.read_stata(path, columns=[codes.name])[codes.name]
    except ValueError as error:
        if "not unique" not in str(error):
            raise
        return {None: ""}
    if not isinstance(texts.dtype, pd.CategoricalDtype):
        return {}
    return {code: text for code, text in zip(codes, texts, strict=True) if isinstance(text, str)}


def _damaged(path: Path, kind: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:150]
    return InputError(f"{path} is no whole {kind} file ({reason}); get it again")
