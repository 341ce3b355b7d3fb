"""Contrasts between words: paired t over items, in readers' times and in each LM's surprisal.

The thesis's chapter 11 has 19 of them, such as "the main verb in a predictive context takes longer
than the subject noun in another one": a region, what should be higher and what lower.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.figures.paths import File
from recency.reading import filters

COLUMNS = ["contrast", "contrast_label", "lm", "items", "difference", "t", "p", "passed"]
LEVEL = 0.05


def reading_times(parts: Sequence[File], size: int) -> np.ndarray:
    """Return each word's log time (words,), a mean over subjects, less the subject's own mean.

    `parts` are observations; words that nobody's times are of are NaN.
    """
    rows = pd.concat([pd.read_parquet(p, columns=["subject", "word_id", "time_ms"]) for p in parts])
    log = np.log(rows["time_ms"])
    log = log - log.groupby(rows["subject"]).transform("mean")
    return log.groupby(rows["word_id"]).mean().reindex(range(size)).to_numpy()


def tested(
    words: pd.DataFrame, values: Mapping[str, np.ndarray], contrasts: Sequence[Mapping], by: str
) -> pd.DataFrame:
    """Return the rows (COLUMNS) of each contrast and of each lm in `values` (words,).

    Each side of an item (the column `by`) is the mean over its words there; t is of the paired
    differences, high less low, and p two-sided. A contrast is passed with p < 0.05 and high above.
    """
    rows = []
    for contrast in contrasts:
        sides = _sides(words, contrast)
        for lm, value in values.items():
            high, low = (
                pd.Series(value[side]).groupby(words[by].to_numpy()[side]).mean() for side in sides
            )
            difference = (high - low).dropna().to_numpy()
            if len(difference) < 2:
                raise InputError(
                    f"maze → contrasts → {contrast['contrast']}: {len(difference)} groups of {by!r} have words of both "
                    f"sides for {lm}, and a test takes 2 or more; look at region, high and low"
                )
            t, p = paired(difference)
            passed = bool(p < LEVEL and t > 0)
            known = (contrast["contrast"], contrast["label"], lm, len(difference))
            rows.append((*known, difference.mean(), t, p, passed))
    return pd.DataFrame(rows, columns=COLUMNS)


def paired(difference: np.ndarray) -> tuple[float, float]:
    """Return Student's t of paired differences (n,) and its two-sided p; NaN where too few or all alike."""
    from scipy.stats import ttest_1samp

    if len(difference) < 2 or np.ptp(difference) == 0:
        return math.nan, math.nan
    found = ttest_1samp(difference, 0.0)
    return float(found.statistic), float(found.pvalue)


def _sides(words: pd.DataFrame, contrast: Mapping) -> list[np.ndarray]:
    """Return which words (masks) are high and which are low."""
    where = f"maze → contrasts → {contrast['contrast']}"

    def holds(key: str) -> np.ndarray:
        if contrast[key] is None:
            return np.ones(len(words), bool)
        found = filters.evaluated(words, f"{where} → {key}", contrast[key])
        return found.fillna(False).to_numpy(bool)

    region = holds("region")
    return [region & holds(side) for side in ("high", "low")]
