"""Weights by distance: histograms of those of networks that read a window of states, and of a CDLM's.

A CDLM's are shares of its transformed words T_k v_w below thresholds, as in the thesis's Figure 2.2,
right: a more sparse matrix has more entries below a threshold.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency.scoring import ngram
from recency.scoring.lm_spec import LMSpec

BINS = 60


def window_matrices(network) -> list[np.ndarray]:
    """Return V_1 … V_{n-1} of a network's first memory, each (units, inputs), the latest state's first."""
    memory = network.model.layers[0]
    weights = memory.read.weight.detach().float().numpy()
    return np.split(weights, memory.window, 1)[::-1]


def histograms(matrices: Sequence[np.ndarray]) -> pd.DataFrame:
    """Return position (from 1), low, high and count: histograms with common bins; and each one's mean |V|."""
    widest = max(np.abs(matrix).max() for matrix in matrices)
    edges = np.linspace(-widest, widest, BINS + 1)
    return pd.concat(
        pd.DataFrame(
            {
                "position": position,
                "low": edges[:-1],
                "high": edges[1:],
                "count": np.histogram(matrix, edges)[0],
                "mean_absolute": np.abs(matrix).mean(),
            }
        )
        for position, matrix in enumerate(matrices, 1)
    )


def count_weights(lm: LMSpec, out: str | Path) -> None:
    """Write `histograms` of a network to a CSV."""
    rows = histograms(window_matrices(lm.open(biased=False).network))
    with atomic(out) as part:
        rows.to_csv(part, index=False, lineterminator="\n")


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


def measure_sparseness(cdlm: str | Path, out: str | Path, thresholds: Sequence[float]) -> None:
    """Write `sparseness` of a CDLM's file to a CSV, with distances from the predicted word."""
    loaded = ngram.load(cdlm)
    rows = sparseness(loaded.v, loaded.T, thresholds)
    rows["distance"] += loaded.base.order
    with atomic(out) as part:
        rows.to_csv(part, index=False, lineterminator="\n")
