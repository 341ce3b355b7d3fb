"""Contrasts between words: paired t over items, for readers' responses and each LM's surprisal.

Chapter 11 of the thesis has 19 contrasts, such as "the main verb in a predictive context takes
longer than the subject noun in another one": a region, and its high and low conditions.

Marks of contrasts, as in the thesis.
"""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from readingtimes import filters
from readingtimes.response_names import AMPLITUDE, EVENT, RESPONSES, TIME
from recency.errors import InputError
from recency.figures.paths import File

COLUMNS = ["contrast", "contrast_label", "lm", "items", "difference", "t", "p", "passed"]
LEVEL = 0.05
UNITS = {TIME: "log ms", AMPLITUDE: "µV", EVENT: "share"}
"""Unit of a response's differences, "" for a score."""


def responses(parts: Sequence[File], size: int) -> tuple[np.ndarray, str, np.ndarray]:
    """Return each word's response, as a mean over subjects after subtracting each subject's mean.

    Parameters
    ----------
    parts : sequence of path
        Observations: subject, word_id, optionally span, and a response (log times) or event.
    size : int
        Number of words.

    Returns
    -------
    values : ndarray, shape (size,)
        NaN for words without a response.
    unit : str
        Unit of the values.
    span : ndarray, shape (size,)
        Number of words, from each word on, that its response covers; 1 by default.
    """
    rows = pd.concat([pd.read_parquet(path) for path in parts], ignore_index=True)
    name = next(column for column in (*RESPONSES, EVENT) if column in rows)
    value = np.log(rows[name]) if name == TIME else rows[name].astype(float)
    value = value - value.groupby(rows["subject"]).transform("mean")
    mean = value.groupby(rows["word_id"]).mean().reindex(range(size)).to_numpy()
    span = np.ones(size, dtype=int)
    if "span" in rows:
        longest = rows.groupby("word_id")["span"].max()
        span[longest.index] = longest
    return mean, UNITS.get(name, ""), span


def effects(
    words: pd.DataFrame, value: np.ndarray, contrast: Mapping, by: str, where: str
) -> pd.Series:
    """Return the difference of each item with both sides: the mean of `high` minus that of `low`.

    Parameters
    ----------
    words : DataFrame
        Contract 1, with the column `by` and the columns of the conditions.
    value : ndarray, shape (words,)
        A response or a surprisal per word, or NaN.
    contrast : mapping
        contrast, region, high and low.
    by : str
        The column of items.
    where : str
        The contrast's path in the config, for errors.
    """
    high, low = (
        pd.Series(value[side]).groupby(words[by].to_numpy()[side]).mean()
        for side in sides(words, contrast, where)
    )
    return (high - low).dropna()


def tested(
    words: pd.DataFrame,
    values: Mapping[str, np.ndarray],
    contrasts: Sequence[Mapping],
    by: str,
    where: str = "maze → contrasts",
) -> pd.DataFrame:
    """Return the rows (COLUMNS) of each contrast and each LM of `values` (words,).

    Each side of an item (column `by`) is the mean over its words; t is of the paired differences,
    high minus low, and p is two-sided. A contrast is passed if p < 0.05 and high exceeds low.
    """
    rows = []
    for contrast in contrasts:
        at = f"{where} → {contrast['contrast']}"
        for lm, value in values.items():
            difference = effects(words, value, contrast, by, at).to_numpy()
            if len(difference) < 2:
                raise InputError(
                    f"{at}: {len(difference)} groups of {by!r} have words of both "
                    f"sides for {lm}, and a test needs 2 or more; check region, high and low"
                )
            t, p = paired(difference)
            passed = bool(p < LEVEL and t > 0)
            identity = (contrast["contrast"], contrast["label"], lm, len(difference))
            rows.append((*identity, difference.mean(), t, p, passed))
    return pd.DataFrame(rows, columns=COLUMNS)


def paired(difference: np.ndarray) -> tuple[float, float]:
    """Return Student's t of paired differences (n,) and its two-sided p; NaN if undefined."""
    from scipy.stats import ttest_1samp

    if len(difference) < 2 or np.ptp(difference) == 0:
        return math.nan, math.nan
    result = ttest_1samp(difference, 0.0)
    return float(result.statistic), float(result.pvalue)


VALUES = 8
"""Number of a column's values that a message lists."""


def sides(words: pd.DataFrame, contrast: Mapping, where: str) -> list[np.ndarray]:
    """Return boolean masks of the words on the high and the low side."""

    def holds(key: str) -> np.ndarray:
        if contrast[key] is None:
            return np.ones(len(words), bool)
        result = filters.evaluated(words, f"{where} → {key}", contrast[key])
        held = result.fillna(False).to_numpy(bool)
        if not held.any():
            used = [name for name in re.findall(r"\w+", contrast[key]) if name in words]
            values = {name: words[name].dropna().astype(str).unique() for name in used}
            there = "; ".join(
                f"{name} is {', '.join(found[:VALUES])}" + ", …" * (len(found) > VALUES)
                for name, found in values.items()
            )
            raise InputError(f"{where} → {key}: no word has {contrast[key]}; {there}")
        return held

    region = holds("region")
    high, low = (region & holds(side) for side in ("high", "low"))
    if (both := high & low).any() and None not in (contrast["high"], contrast["low"]):
        word = words[both].iloc[0]
        raise InputError(
            f"{where}: {int(both.sum()):,} words are on both sides, {word['word']!r} of text {word['item']!r} "
            f"first; high ({contrast['high']}) and low ({contrast['low']}) must exclude each other"
        )
    return [high, low]


STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"), (0.1, "."))


def mark(t: float, p: float) -> str:
    """Return X for a difference in the wrong direction, else . * ** *** by p, "" without t."""
    if math.isnan(t):
        return ""
    return "X" if t < 0 else next((stars for most, stars in STARS if p < most), "")
