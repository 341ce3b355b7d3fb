"""The data of an explorer's page: datasets with their words, responses with gains, rankings.

They are plain dicts for JSON; numbers by word are packed columns. All parts except the words are
optional, and `missing` has the reasons for their absence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.evaluations.explore.packing import packed

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
        "gain": [
            None if values is None else packed(np.bincount(codes, values, len(names)))
            for values in gains
        ],
    }


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
