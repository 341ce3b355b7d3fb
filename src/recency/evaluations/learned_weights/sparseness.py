"""Rule learned_sparseness: shares of a CDLM's transformed words T_k v_w below thresholds.

As in the thesis's Figure 2.2, right. A more sparse matrix has more entries below a threshold.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency.scoring import ngram


def sparseness(
    vectors: np.ndarray, matrices: np.ndarray, thresholds: Sequence[float]
) -> pd.DataFrame:
    """Return distance beyond the first, threshold, and the share of T_k v_w that is below it in absolute value.

    `vectors` v are (words, C), `matrices` T (distances, C, C).
    """
    rows = []
    for distance, matrix in enumerate(matrices, 1):
        moved = np.abs(vectors @ matrix.T)
        rows += [(distance, at, float((moved < at).mean())) for at in thresholds]
    return pd.DataFrame(rows, columns=["distance", "threshold", "share"])


def main(cdlm: str | Path, out: str | Path, thresholds: Sequence[float]) -> None:
    """Write `sparseness` of a CDLM's file to a CSV, with distances from the predicted word."""
    loaded = ngram.load(cdlm)
    rows = sparseness(loaded.v, loaded.T, thresholds)
    rows["distance"] += loaded.base.order
    with atomic(out) as part:
        rows.to_csv(part, index=False, lineterminator="\n")
