"""Compare surprisal in a reduced precision of the weights with float32, on a sample of words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring.lm_spec import LMSpec

if TYPE_CHECKING:
    from recency.scoring.surprisal import Model

#: Number of words in the sample.
WORDS = 2000


def open_and_compare(words: pd.DataFrame, lm: LMSpec) -> tuple["Model", dict[str, Any]]:
    """Open an LM in its reduced precision, and compare its surprisal with that in float32.

    Parameters
    ----------
    words : DataFrame
        Contract 1; the first `WORDS` are scored.
    lm : LMSpec
        An LM with `precision` in its `weights`.

    Returns
    -------
    Model
        The LM in the reduced precision.
    dict
        `precision`, `words`, `mean_bits` and `largest_bits` (mean and largest absolute difference
        in bits); or `precision` and `not_compared`, the reason.
    """
    sample = words.iloc[:WORDS]
    full = replace(lm, weights={k: v for k, v in lm.weights.items() if k != "precision"})
    about: dict[str, Any] = {"precision": lm.weights["precision"]}
    try:
        exact = _bits(sample, full.open(), lm)
    except InputError as error:  # too large, or stored in quantised form
        return lm.open(), about | {"not_compared": str(error)}
    model = lm.open()
    difference = np.abs(_bits(sample, model, lm) - exact)
    counted = difference[np.isfinite(difference)]
    sizes = {"mean_bits": float(counted.mean()), "largest_bits": float(counted.max())}
    return model, about | {"words": len(counted), **sizes}


def _bits(words: pd.DataFrame, model: "Model", lm: LMSpec) -> np.ndarray:
    """Return the surprisal of words in bits."""
    from recency.scoring.surprisal import score_words

    settings = {k: v for k, v in lm.reading.items() if k != "lossy"}
    return score_words(words, model, **settings).table["surprisal_bits"].to_numpy()


def note(compared: Mapping[str, Any]) -> str:
    """Return a line for the log from the result of `open_and_compare`."""
    precision = compared["precision"]
    if "not_compared" in compared:
        return f"weights in the precision {precision}, not compared with float32: {compared['not_compared']}"
    return (
        f"weights in the precision {precision}: surprisal of the first {compared['words']:,} words differs "
        f"from that in float32 by {compared['mean_bits']:.2g} bits on average, "
        f"{compared['largest_bits']:.2g} at most"
    )
