"""The half-life of a measured memory: an exponential fitted to the mean effect by distance.

The next word is left out of it: any LM takes most from the word before, a bigram model too, and what
is asked is how what is left fades.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.stats import bootstrap

REPLICATES = 1000
#: Half-lives that are looked for, words; a fit that ends at either says no more than "at most", "at least".
SHORTEST, LONGEST = 0.1, 1e4
NEXT = 1  # words: the distance that the half-life leaves out


@dataclass(frozen=True)
class Memory:
    """Of one LM: mean |change| in bits by distance, and what is made of it."""

    distance: np.ndarray  # words, 1 the next one
    effect: np.ndarray  # mean |change|, bits
    low: np.ndarray  # its 95 % interval, places drawn anew
    high: np.ndarray
    half_life: float  # words; NaN where nothing changes
    half_life_low: float
    half_life_high: float
    half_within: float  # words within which half of the summed effect falls, the next word left out
    places: int
    units: list[float] | None = None  # quartiles of the half-lives of units that fade, tokens


def fitted(distance: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Return for each row of `effects` (n, distances) the h (words) of the nearest A·2^(−d/h).

    Nearest in least squares over h on a grid of 0.3 % steps; the best A of each h has a closed form.
    Without any effect there is no half-life: NaN.
    """
    lives = np.exp(np.arange(math.log(SHORTEST), math.log(LONGEST), 0.003))
    curves = np.exp2(-(distance - 1) / lives[:, None])  # (lives, distances)
    curves /= np.linalg.norm(curves, axis=1, keepdims=True)
    explained = effects @ curves.T
    return np.where(effects.any(1), lives[explained.argmax(1)], math.nan)


def measured(*changes: pd.DataFrame, seed: int = 0) -> Memory:
    """Measure a memory by the changes of `replace.changes`, of each seed of an LM one table.

    It is the mean over seeds; intervals draw places anew, the same of all seeds, and seeds
    (`bootstrap.of_few`).
    """
    sizes = [each.assign(size=each.change_bits.abs()) for each in changes]
    grids = [each.pivot(index="place", columns="distance", values="size") for each in sizes]
    if any(
        not (g.index.equals(grids[0].index) and g.columns.equals(grids[0].columns)) for g in grids
    ):
        raise InputError("the seeds of an LM were not measured at the same places and distances")
    values, distance = np.stack(grids), grids[0].columns.to_numpy(float)
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    effect = filled.sum((0, 1)) / known.sum((0, 1))
    seeds, places, _ = values.shape
    random = np.random.default_rng(seed)
    counts = random.multinomial(places, np.full(places, 1 / places), REPLICATES)
    shares = bootstrap.of_few(random, seeds, REPLICATES)
    seen, sums = (
        sum(shares[:, n, None] * (counts @ each) for n, each in enumerate(what))
        for what in (known, filled)
    )
    drawn = np.divide(sums, seen, out=np.zeros(seen.shape), where=seen > 0)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    later = distance > NEXT
    half_life = float(fitted(distance[later], effect[None, later])[0])
    lives = fitted(distance[later], drawn[:, later])
    ends = np.quantile(lives, [0.025, 0.975]) if np.isfinite(lives).all() else (math.nan, math.nan)
    summed = effect[later].cumsum()
    within = distance[later][np.searchsorted(summed, summed[-1] / 2)] if summed[-1] else math.nan
    return Memory(
        distance, effect, low, high, half_life, *map(float, ends), float(within),
        places,
    )  # fmt: skip
