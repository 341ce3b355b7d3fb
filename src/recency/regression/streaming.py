"""Cross-products from a file of observations read in chunks: memory does not grow with its rows.

What is held is a chunk, what is known of each word, the levels' names and the cross-products. lme4
itself must hold all rows, so this is for searches that need no merMod object.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from recency.errors import InputError
from recency.mixed.cross_products import Products
from recency.mixed.factors import Factor
from recency.mixed.formula import INTERCEPT, Formula
from recency.mixed.scaling import scaled
from recency.mixed.sums import ROWS, Part, sum_products
from recency.regression.coding import NOTHING, Coding, complete
from recency.regression.predictors import columns_of, groups_of, values_of
from recency.regression.texts import Texts


@dataclass
class Survey:
    """What a first pass over a file finds: scaling as scaling_of(), levels, the mean response."""

    n: int
    mean: float
    scaling: dict[str, dict[str, float]]
    levels: dict[str, np.ndarray]
    """sorted, by grouping variable"""


def survey(
    path: str | PathLike,
    texts: Texts,
    names: list[str],
    response: str,
    observed: str = "time_ms",
    coding: Coding = NOTHING,
) -> Survey:
    """Read a file once, for the predictors `names`; the rest is as for read_rows()."""
    n, mean, sizes = 0, 0.0, np.zeros(len(names))
    means, lows, highs = np.zeros(len(names)), np.full(len(names), np.inf), -np.inf
    levels: dict[str, set] = {}
    for frame in _chunks(path, observed, texts, names, coding):
        predictors, y = values_of(frame, texts, names, response, observed, path, coding)
        values = np.array([predictors[name] for name in names]).reshape(len(names), len(y))
        # Means and squared distances of two samples joined (Chan et al. 1979).
        m, new = len(y), values.mean(1)
        total = n + m
        sizes += ((values - new[:, None]) ** 2).sum(1) + (new - means) ** 2 * (n * m / total)
        means += (new - means) * (m / total)
        mean += (y.mean() - mean) * (m / total)
        n = total
        lows, highs = np.minimum(lows, values.min(1)), np.maximum(highs, values.max(1))
        for name, found in _groups(frame, texts, coding, path).items():
            levels.setdefault(name, set()).update(np.unique(found).tolist())
    if not n:
        raise InputError(f"{path} has no observations; see counts.csv beside it for the filters")
    sds = np.where(highs > lows, np.sqrt(sizes / max(n - 1, 1)), 1.0)
    return Survey(
        n=n,
        mean=float(mean),
        scaling={
            name: {"mean": float(m), "sd": float(sd)}
            for name, m, sd in zip(names, means, sds, strict=True)
        },
        levels={name: np.array(sorted(found)) for name, found in levels.items()},
    )


def streamed_products(
    formula: Formula,
    crossed: list[Factor],
    path: str | PathLike,
    texts: Texts,
    response: str,
    known: Survey,
    coding: Coding = NOTHING,
) -> Products:
    """Read a file once more and sum its cross-products, as products_of() does from memory."""
    names = sorted(formula.predictors)
    sizes = {factor.group: len(known.levels[factor.group]) for factor in crossed}
    shift = known.mean if INTERCEPT in formula.fixed else 0.0
    scaling = {name: known.scaling[name] for name in names}

    def parts() -> Iterator[Part]:
        for frame in _chunks(path, formula.response, texts, names, coding):
            predictors, y = values_of(frame, texts, names, response, formula.response, path, coding)
            groups = _groups(frame, texts, coding, path)
            codes = {name: np.searchsorted(known.levels[name], groups[name]) for name in sizes}
            yield scaled(predictors, scaling), y - shift, codes

    return sum_products(formula, crossed, parts(), sizes)


def _chunks(
    path: str | PathLike, observed: str, texts: Texts, names: list[str], coding: Coding
) -> Iterator[pd.DataFrame]:
    columns = columns_of(path, observed, coding.reads(names))
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROWS, columns=columns):
            frame, _ = complete(batch.to_pandas(), texts, coding, path)
            if len(frame):
                yield frame


def _groups(
    frame: pd.DataFrame, texts: Texts, coding: Coding, path: str | PathLike
) -> dict[str, np.ndarray]:
    groups = groups_of(frame, texts, coding, path)
    text = {
        name: pd.Series(values).astype(str).to_numpy().astype(str)
        for name, values in groups.items()
        if name != "sentence"
    }
    return {"sentence": groups["sentence"], **text}
