"""Rule learned_windows: histograms of the weights with which a network reads a window of states."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
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


def main(lm: LMSpec, out: str | Path) -> None:
    """Write `histograms` of a network to a CSV."""
    rows = histograms(window_matrices(lm.open(biased=False).network))
    with atomic(out) as part:
        rows.to_csv(part, index=False, lineterminator="\n")
