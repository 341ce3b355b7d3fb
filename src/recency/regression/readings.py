"""The words that each subject has read and when: the impulses of continuous-time deconvolution."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.mixed.expressions import evaluate, names, read
from recency.reading.response_names import ONSET
from recency.regression.kernels import KERNELS, TAIL
from recency.regression.texts import Texts, word_values


@dataclass(frozen=True)
class Readings:
    """The R words that subjects have read, by subject, item and onset."""

    index: pd.MultiIndex
    """subject and word_id"""
    onset: np.ndarray
    """in seconds (R,)"""
    start: np.ndarray
    """index (R,) of the first word of the same subject and item"""

    @property
    def word(self) -> np.ndarray:
        """The word_id of each reading (R,)."""
        return self.index.get_level_values(1).to_numpy()

    def places(self, subject: np.ndarray, word: np.ndarray) -> np.ndarray:
        """Return the indices (n,) of the words of some rows.

        Raises an InputError if a row's word has no onset.
        """
        indices = self.index.get_indexer(pd.MultiIndex.from_arrays([subject, word]))
        if (odd := np.flatnonzero(indices < 0)).size:
            raise InputError(
                f"deconvolve(): word_id {word[odd[0]]} has no onset for subject {subject[odd[0]]} "
                f"({len(odd):,} of {len(word):,} rows have none); filter such rows out (`onset_ms >= 0`)"
            )
        return indices

    def convolved(
        self, impulses: np.ndarray, at: np.ndarray, kernel: str, parameters: Sequence[float]
    ) -> np.ndarray:
        """Return the convolution (n,) of a word predictor with a kernel, at some words' onsets.

        Parameters
        ----------
        impulses
            The predictor of each word (W,).
        at
            Indices (n,) of the rows' words.
        kernel
            A key of recency.regression.kernels.KERNELS.
        parameters
            The kernel's parameters.
        """
        density = KERNELS[kernel].density
        reach = KERNELS[kernel].reach(TAIL, *parameters)
        of_words = impulses[self.word]
        total, rows, word = np.zeros(len(at)), np.arange(len(at)), at
        while len(rows):
            delay = self.onset[at[rows]] - self.onset[word]
            near = delay <= reach
            rows, word = rows[near], word[near]
            total[rows] += density(delay[near], *parameters) * of_words[word]
            inside = word > self.start[word]
            rows, word = rows[inside], word[inside] - 1
        return total


def readings_of(texts: Texts, term: str) -> Readings:
    """Return the readings that a regression's onsets file has; it is read once."""
    files = texts.files
    if files is None or files.onsets is None:
        raise InputError(f"{term}: a kernel needs onsets, and this regression was given none")
    if files.readings is None:
        files.readings = table(pd.read_parquet(files.onsets), texts.item)
    return files.readings


def table(onsets: pd.DataFrame, item: np.ndarray) -> Readings:
    """Build readings from a table of onsets (recency.reading.onsets) and each word's item (W,)."""
    onsets = onsets.assign(item=item[onsets.word_id], subject=onsets.subject.astype("str"))
    onsets = onsets.sort_values(["subject", "item", ONSET, "word_id"], kind="stable")
    new = (onsets[["subject", "item"]] != onsets[["subject", "item"]].shift()).any(axis=1)
    places = np.arange(len(onsets))
    start = np.maximum.accumulate(np.where(new, places, 0))
    index = pd.MultiIndex.from_arrays([onsets.subject.to_numpy(dtype=object), onsets.word_id])
    if (again := index.duplicated()).any():
        subject, word = index[again][0]
        raise InputError(f"onsets: subject {subject} has two onsets of word_id {word}")
    return Readings(index, onsets[ONSET].to_numpy(np.float64) / 1000, start)


def impulses_of(texts: Texts, term: str) -> np.ndarray:
    """Return the impulses of a kernel (W,): a predictor minus its mean, or 1 for the rate.

    NaN if a word has no value, except that an item's first word then has the mean. Without
    centring, the column would follow the number of recent words, that is, the reader's speed.
    """
    expression = read(term).parts[0]
    first = np.append(True, texts.item[1:] != texts.item[:-1])
    columns = {}
    for name in names(expression):
        values = word_values(texts, name)
        if values is None or values.dtype == object:
            raise InputError(f"{term}: {name} is no numeric column of the words")
        columns[name] = values
    impulses = np.broadcast_to(evaluate(expression, columns), len(first)).astype(np.float64)
    if not columns:
        return impulses
    centred = impulses - impulses[np.isfinite(impulses)].mean()
    return np.where(np.isnan(centred) & first, 0.0, centred)


def kernel_column(
    spec: Mapping[str, Any], frame: pd.DataFrame, texts: Texts, path: str | PathLike
) -> np.ndarray:
    """Return the column (n,) of a kernel with given parameters for the rows of `frame`."""
    readings, term = readings_of(texts, spec["term"]), spec["term"]
    word = frame["word_id"].to_numpy()
    at = readings.places(frame["subject"].astype("str").to_numpy(dtype=object), word)
    values = [spec["parameters"][name] for name in KERNELS[spec["kernel"]].parameters]
    column = readings.convolved(impulses_of(texts, term), at, spec["kernel"], values)
    if (odd := np.flatnonzero(~np.isfinite(column))).size:
        raise InputError(
            f"{path}: {term} has no value for word_id {word[odd[0]]} ({len(odd):,} such rows): its "
            "predictor lacks a value at this word, or at one before it in the item; a kernel needs "
            "one at every word"
        )
    return column
