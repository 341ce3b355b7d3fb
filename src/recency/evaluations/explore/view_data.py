"""The data of an explorer's page: datasets with their words, responses with gains, rankings.

They are plain dicts for JSON; numbers by word are packed columns. All parts except the words are
optional, and `missing` has the reasons for their absence.

Numeric columns in a page: rounded, as 32-bit integers, compressed, in base64.

Columns whose numbers do not fit are stored as they are, with 64 bits each.
"""

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError

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


OF_WORDS = ("item", "sentence", "position", "word")
BY_WORD = 4
"""Significant digits of contributions, which have one column per LM and response."""


@dataclass
class Contents:
    """The contents of a page.

    Attributes
    ----------
    title
        Title of the experiment.
    command
        Command that recreates the page.
    lms
        `key` and `label` of each LM, in order.
    datasets, responses
        See `dataset` and `response`.
    ranking
        Rows of response, lm, value, low, high, by and n; `response` is -1 for all responses.
    memory
        Rows of lm, half_life, low and high, in words.
    missing
        Notes on missing parts and the reasons.
    """

    title: str
    command: str
    lms: list[dict[str, str]]
    datasets: list[dict[str, Any]] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)
    ranking: list[dict[str, Any]] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def dataset(
    key: str,
    label: str,
    words: pd.DataFrame,
    surprisal: Sequence[np.ndarray | None],
    frequency: tuple[str, np.ndarray] | None = None,
    fixations: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """Return a dataset's words with the surprisal (n,) under each LM.

    Parameters
    ----------
    key, label
        Of the dataset.
    words
        item, sentence, position and word, in reading order, and optionally pos.
    surprisal
        In bits, in the order of the LMs; None for an LM without surprisal.
    frequency
        A label with its unit, and a value (n,) per word.
    fixations
        Contract 4, where an LM has the contexts of readers: the words of each reader's fixations, in
        their order within each text.
    """
    items = words["item"].astype(str).to_numpy()
    starts = np.flatnonzero(np.append(True, items[1:] != items[:-1]))
    text = words["word"].astype(str)
    parts = {}
    if "pos" in words:
        codes, levels = pd.factorize(words["pos"].astype(str), sort=True)
        parts["pos"] = {"levels": list(levels), "codes": packed(codes)}
    if frequency is not None:
        parts["frequency"] = {"label": frequency[0], "values": packed(frequency[1])}
    if fixations is not None:
        ordered = fixations.sort_values(["subject", "item", "order"], kind="stable")
        paths = ordered.groupby(ordered["subject"].astype(str), sort=True)["word_id"]
        parts["fixations"] = [{"reader": name, "words": packed(path)} for name, path in paths]
    return {
        "key": key,
        "label": label,
        "words": text.tolist(),
        "items": items[starts].tolist(),
        "starts": starts.tolist(),
        "sentence": packed(words["sentence"]),
        "position": packed(words["position"]),
        "length": packed(text.str.len()),
        "surprisal": [None if values is None else packed(values) for values in surprisal],
        **parts,
    }


def by_word(word_id: np.ndarray, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum (n,) of the values of each word, NaN without any, and their number (n,)."""
    counts = np.bincount(word_id, minlength=n)
    sums = np.bincount(word_id, values, n)
    return np.where(counts > 0, sums, np.nan), counts


def grouped(units: pd.Series, gains: Sequence[np.ndarray | None], n: pd.Series) -> dict[str, Any]:
    """Return the sum of each LM's contributions by unit, in order of appearance."""
    codes, names = pd.factorize(units, sort=False)
    return {
        "names": [str(name) for name in names],
        "n": np.bincount(codes, n, len(names)).astype(int).tolist(),
        "rows": np.bincount(codes, minlength=len(names)).tolist(),
        "gain": [
            None if values is None else packed(np.bincount(codes, values, len(names)))
            for values in gains
        ],
        "noise": noise(codes, gains),
    }


def noise(units: np.ndarray, gains: Sequence[np.ndarray | None]) -> list[list[float | None]]:
    """Return the variance of contributions within units, pooled over these.

    Parameters
    ----------
    units : array of int, shape (N,)
        Each observation's unit.
    gains : sequence of array, shape (N,)
        Each LM's contributions, None for an LM without any.

    Returns
    -------
    list of list of float, shape (LMs, LMs)
        Of the difference of two LMs; in the diagonal, of an LM itself. None without a unit of two
        observations.
    """
    kept = [number for number, values in enumerate(gains) if values is not None]
    result: list[list[float | None]] = [[None] * len(gains) for _ in gains]
    counts = np.bincount(units)
    free = len(units) - np.count_nonzero(counts)
    if not kept or not free:
        return result
    within = np.array([gains[number] for number in kept])
    for row in within:
        row -= (np.bincount(units, row) / np.maximum(counts, 1))[units]
    covariance = within @ within.T / free
    for a, i in enumerate(kept):
        for b, j in enumerate(kept):
            own = covariance[a, a]
            result[i][j] = float(own if i == j else own + covariance[b, b] - 2 * covariance[a, b])
    return result


def checked_words(words: pd.DataFrame, where: str) -> None:
    """Raise InputError unless words have the columns that a page needs."""
    for name in OF_WORDS:
        if name not in words:
            raise InputError(
                f"{where}: no column {name}; a page needs {', '.join(OF_WORDS)}, one row for each word"
            )
    if words.empty:
        raise InputError(f"{where}: no words")


def reader_slopes(fit: Mapping[str, Any], names: Sequence[str]) -> tuple[list[float], str] | None:
    """Return each reader's slope of surprisal and its unit, or None if a model has no such term.

    The slope is the fixed effect plus the reader's deviation (conditional mode), per bit. Without
    by-subject slopes it is the same for all readers.
    """
    fixed = {effect["term"]: effect["estimate"] for effect in fit.get("fixed", ())}
    if "surprisal" not in fixed or "surprisal" not in fit.get("scaling", {}):
        return None
    sd = fit["scaling"]["surprisal"]["sd"]
    terms = fit.get("random", {}).get("subject", {}).get("terms", [])
    modes = fit.get("ranef", {}).get("subject", {})
    deviations = [0.0] * len(names)
    if "surprisal" in terms:
        index = terms.index("surprisal")
        deviations = [modes[name][index] if name in modes else np.nan for name in names]
    unit = fit.get("formula", "time_ms ~").partition("~")[0].strip()
    unit = {"time_ms": "ms", "amplitude_uv": "µV"}.get(unit, unit)
    unit = f"log {unit}" if fit.get("response") == "log" else unit
    return [(fixed["surprisal"] + deviation) / sd for deviation in deviations], f"{unit} per bit"
