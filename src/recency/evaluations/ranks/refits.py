"""One regression refitted to subjects drawn anew: its log-likelihood on their exploratory observations.

All LMs, bases and measures of a dataset have the same draws. Replicate 0 is the data themselves,
whose log-likelihood is the regression's own.
"""

import zlib
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from recency.files import atomic
from recency.mixed.levels import Levels
from recency.mixed.resampled import Resampled, Sample
from recency.mixed.scaling import scaled, scaling_of
from recency.progress import progress
from recency.regression import categories
from recency.regression.coding import coding_of
from recency.regression.designs import check_mixed, columns_there, formula_of, with_one_base
from recency.regression.predictors import Rows, read_rows
from recency.regression.texts import read_texts

GROUP = "subject"
OTHER = "sentence"


def draws(names: list[str], replicates: int, seed: int, dataset: str) -> np.ndarray:
    """Draw as many of `names` as there are, with replacement: how often each is (replicates + 1, G).

    The first row is all ones: the data themselves.
    """
    G = len(names)
    random = np.random.default_rng([seed, zlib.crc32(f"{dataset}\tranks".encode())])
    drawn = random.multinomial(G, np.full(G, 1 / G), replicates)
    return np.vstack([np.ones((1, G), dtype=drawn.dtype), drawn])


def main(
    words: str | PathLike,
    fit: str | PathLike,
    exploratory: str | PathLike,
    unigram: str | PathLike | None,
    out: str | PathLike,
    *,
    lm: str,
    design: Mapping[str, Any],
    model: str,
    dataset: str,
    replicates: int,
    seed: int,
    surprisal: str | PathLike | None = None,
    others: Mapping[str, str | PathLike] | None = None,
) -> None:
    """Refit `design` (its `full` model or its `base`) to draws of `fit`; write Parquet.

    Its rows have replicate, from 0, and loglik of the drawn subjects' `exploratory` observations
    (natural logarithm, null without a fit). The rest is as for recency.regression.fit.
    """
    there, design = columns_there(words, fit), with_one_base(design, surprisal is not None)
    check_mixed(design, "a ranking by refits")
    formula, whole = (formula_of(design, kind, there) for kind in (model, "full"))
    spillover = design.get("spillover", "item")
    texts = read_texts(words, unigram, surprisal, design["surprisal"], True, others, spillover)
    coding = coding_of(formula, whole, texts, fit)
    asked = (
        texts,
        categories.names(formula, texts, coding),
        design["response"],
        formula.response,
        coding,
    )
    rows, test = read_rows(fit, *asked), read_rows(exploratory, *asked)
    references = categories.references(formula, texts, rows.predictors, coding)
    formula = categories.expand(formula, texts, rows.predictors, references, coding)
    scaling = categories.unscaled(scaling_of(rows.predictors), formula, texts, coding)
    names = {
        group: sorted({*rows.groups[group].names, *test.groups[group].names})
        for group in (GROUP, OTHER)
    }
    samples = [
        Sample(scaled(part.predictors, scaling), part.y, *(_codes(part, g, names[g]) for g in names))
        for part in (rows, test)
    ]  # fmt: skip
    made = Resampled(formula, GROUP, *samples, *(len(each) for each in names.values()))
    drawn = draws(names[GROUP], replicates, seed, dataset)
    shown, found = progress(len(drawn), f"{lm}, {model}: refits", "draws"), []
    for number, times in enumerate(drawn, 1):
        found.append(made.loglik(times))
        shown.update(number)
    with atomic(out) as path:
        frame = pd.DataFrame({"replicate": np.arange(len(drawn), dtype=np.int32), "loglik": found})
        frame.to_parquet(path, compression="zstd", index=False)


def _codes(rows: Rows, group: str, names: list[str]) -> np.ndarray:
    """Return the codes (n,) of a group's levels among `names`."""
    own: Levels = rows.groups[group]
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[name] for name in own.names])[own.codes]
