"""Predictors of responses to several words, as regions of a sentence are."""

import numpy as np
import pandas as pd

from recency.regression import names

SUMMED = ("surprisal", "corrected", "unigram", "length", "given_length")
"""What adds up over a region: its surprisal is exactly the sum of its words'. Of next_… the region has
its last word's; of all else, position and previous_… among it, its first word's."""


def over(name: str, values: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
    """Give a predictor (n,) of responses: of their words `word_id`, or over `span` words from there.

    `values` (W,) are those of all words in reading order; NaN in a region makes its sum NaN.
    """
    word = frame["word_id"].to_numpy()
    if "span" not in frame:
        return values[word]
    span = frame["span"].to_numpy()
    if names.split(name).shift > 0:
        return values[word + span - 1]
    if names.measure_of(name) not in SUMMED:
        return values[word]
    total = values[word].astype(np.float64)
    for further in range(1, int(span.max(initial=1))):
        longer = span > further
        total[longer] += values[word[longer] + further]
    return total
