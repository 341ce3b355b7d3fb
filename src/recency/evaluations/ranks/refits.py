"""Refits of one regression to resampled subjects, and their log-likelihood on exploratory data.

All LMs, bases and measures of a dataset share the same draws. Replicate 0 is the original data,
with the log-likelihood of the regression itself. A subject drawn twice counts as two subjects with
the same conditional modes.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from crosslmm.cells import Cells
from crosslmm.cross_products import Products
from crosslmm.deviance import solve
from crosslmm.factors import Factor
from crosslmm.formula import Formula, column
from crosslmm.recorded import scaled
from crosslmm.theta_search import search
from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.figures.paths import File
from recency.regression.covered_endpoints import factors_of
from recency.regression.designs import check_mixed
from recency.regression.estimation import prepared
from recency.regression.inputs import Inputs, read_data
from recency.regression.predictors import Rows

ENOUGH = 1e-6
"""Expected decrease of the deviance in a step, below which a refit ends."""


def draws(names: list[str], replicates: int, seed: int, dataset: str) -> np.ndarray:
    """Draw as many of `names` as there are, with replacement; return counts (replicates + 1, G).

    The first row is all ones: the original data.
    """
    G = len(names)
    random = np.random.default_rng([seed, zlib.crc32(f"{dataset}\tranks".encode())])
    drawn = random.multinomial(G, np.full(G, 1 / G), replicates)
    return np.vstack([np.ones((1, G), dtype=drawn.dtype), drawn])


def main(
    inputs: Inputs,
    out: File,
    *,
    lm: str,
    design: Mapping[str, Any],
    model: str,
    dataset: str,
    replicates: int,
    seed: int,
) -> None:
    """Refit `design` (its `full` or `base` model) to draws of the partition fit; write Parquet.

    Rows have replicate, from 0, and loglik of the drawn subjects' exploratory observations (natural
    logarithm, null without a fit). Other parameters are as in recency.regression.fit.
    """
    check_mixed(design, "a ranking by refits")
    data = read_data(inputs, design, model)
    formula, scaling, _ = prepared(data.formula, data.texts, data.fit, data.coding)
    _, other = factors = factors_of(formula, "a ranking by refits", "")
    parts = data.fit, data.exploratory
    names = {
        group: sorted({name for part in parts for name in part.groups[group].names})
        for group in ("subject", other.group if other else "sentence")
    }
    fit, test = (
        Sample(
            scaled(part.predictors, scaling), part.y, *(_codes(part, g, names[g]) for g in names)
        )
        for part in parts
    )
    refits = Refits(formula, factors, fit, test, tuple(map(len, names.values())))
    drawn = draws(names["subject"], replicates, seed, dataset)
    shown, values = progress(len(drawn), f"{lm}, {model}: refits", "draws"), []
    for number, times in enumerate(drawn, 1):
        values.append(refits.loglik(times))
        shown.update(number)
    with atomic(out) as path:
        frame = pd.DataFrame({"replicate": np.arange(len(drawn), dtype=np.int32), "loglik": values})
        frame.to_parquet(path, compression="zstd", index=False)


@dataclass
class Sample:
    """Rows of a model: scaled predictors (n,), response (n,), codes of both factors."""

    predictors: Mapping[str, np.ndarray]
    y: np.ndarray
    subject: np.ndarray
    other: np.ndarray


class Refits:
    """A model of rows `fit`, refitted to resampled subjects, and scored on their rows of `test`.

    `factors` are the subjects and the other factor, `shape` their numbers of levels.
    """

    def __init__(
        self,
        formula: Formula,
        factors: tuple[Factor, Factor | None],
        fit: Sample,
        test: Sample,
        shape: tuple[int, int],
    ):
        self._subject, self._other = factors
        self._test, self._others = test, np.ones(shape[1], dtype=int)
        self._cells = Cells(formula, *factors, fit.predictors, fit.y, fit.subject, fit.other, shape)
        whole = search(self._products(np.ones(shape[0], dtype=int)), *self._free)
        self._start = whole.La, whole.Lb

    @property
    def _free(self) -> tuple[np.ndarray, np.ndarray]:
        return self._cells.free_a, self._cells.free_b

    def _products(self, times: np.ndarray) -> Products:
        return self._cells.products(times, self._others)

    def loglik(self, times: np.ndarray) -> float:
        """Refit with these counts of subjects (G,); return the log-likelihood of their test rows.

        Natural logarithm, conditional on the random effects; NaN without a finite likelihood.
        """
        try:
            products = self._products(times)
            solution = search(products, *self._free, self._start, ENOUGH)
            at = solve(products, solution.La, solution.Lb)
        except np.linalg.LinAlgError:
            return float("nan")
        test, n = self._test, len(self._test.y)

        def columns(names: tuple[str, ...]) -> np.ndarray:
            return np.array([column(c, test.predictors, n) for c in names]).reshape(-1, n).T

        index = np.maximum(np.cumsum(times > 0) - 1, 0)  # index among the drawn subjects
        left = test.y - self._cells.shift - columns(self._cells.fixed) @ at.beta
        left -= (columns(self._subject.columns) * at.modes_a[index[test.subject]]).sum(1)
        if self._other:
            left -= (columns(self._other.columns) * at.modes_b[test.other]).sum(1)
        logliks = -0.5 * (np.log(2 * np.pi * at.sigma**2) + (left / at.sigma) ** 2)
        return float(times @ np.bincount(test.subject, logliks, len(times)))


def _codes(rows: Rows, group: str, names: list[str]) -> np.ndarray:
    """Return the codes (n,) of a group's levels among `names`."""
    places = {name: index for index, name in enumerate(names)}
    return np.array([places[name] for name in rows.groups[group].names])[rows.groups[group].codes]
