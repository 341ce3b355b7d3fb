"""Information beyond the last k words, and its intervals, of each LM."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from crosslmm.stats import bootstrap
from recency.errors import InputError
from recency.figures import comparison
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files

COLUMNS = ["place", "kept", "bits"]


def beyond(tables: Sequence[pd.DataFrame], seed: int = 0, replicates: int = 1000) -> pd.DataFrame:
    """Return the information beyond k words: kept (k), words, bits, low and high.

    It is the mean surprisal of the words after their last k words, less that after the whole context, over
    words and seeds; in bits per word. The last row, `kept` 0, has the mean surprisal after the whole
    context. 95 % intervals resample the words, the same ones for all seeds, and the seeds
    (`bootstrap.resample_few`).

    Parameters
    ----------
    tables
        One table per seed, as written by the rule.
    """
    grids = [table.pivot(index="place", columns="kept", values="bits") for table in tables]
    if any(not g.index.equals(grids[0].index) or list(g) != list(grids[0]) for g in grids):
        raise InputError("the seeds of an LM predicted different words")
    kept, values = grids[0].columns.to_numpy(), np.stack([grid.to_numpy(float) for grid in grids])
    values = np.concatenate([values[..., :-1] - values[..., -1:], values[..., -1:]], axis=2)
    mean, drawn = bootstrap.resample_means(values, seed, replicates)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return pd.DataFrame(
        {"kept": [*kept[:-1], 0], "words": values.shape[1], "bits": mean, "low": low, "high": high}
    )


def read(predictions: Files, lms: Described) -> tuple[pd.DataFrame, list[LM]]:
    """Return lm, label and the columns of `beyond`, and the LMs; the seeds of an LM share its name."""
    models, files = comparison.of_seeds(predictions, lms)
    parts = [
        beyond([pd.read_parquet(path, columns=COLUMNS) for path in files[lm.lm]]) for lm in models
    ]
    return comparison.joined(models, parts)[["lm", "label", *parts[0]]], models
