"""ΔLogLik of LMs trained from several seeds: variance between seeds and between items.

An item is a sentence, or a stimulus in all its conditions. With d_si an LM's part of ΔLogLik on the exploratory partition for seed s and
sentence i, d_si = mean + seed_s + item_i + residual_si. The variance of the total over I sentences
and S seeds has one part that only more seeds reduce and one that only more sentences reduce.

Intervals follow the rule of crosslmm.stats.totals, with sentences as the resampling unit.
"""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.evaluations.reading_times import delta_loglik, shared_texts
from recency.figures.paths import File, write_csv

COLUMNS = [
    *("lm", "against", "dataset", "measure", "design", "seeds", "sentences", "delta_loglik"),
    *("sd_seed", "sd_sentence", "sd_residual", "se_seeds", "se_sentences", "se", "low", "high"),
]
LEVEL = 0.95


@dataclass(frozen=True)
class Components:
    """Sds of seeds, items and residual, each for one seed and item, and the mean of all values."""

    mean: float
    seed: float
    item: float
    residual: float


def main(
    full: Sequence[File],
    base: Sequence[File],
    out: File,
    *,
    cells: Sequence[Mapping[str, Any]],
    endpoint: str = "conditional",
    words: Sequence[File] = (),
) -> None:
    """Write one row per LM (without its seed) and response, and one per pair of LMs and response.

    `cells` has lm, but_for_seed, seed, dataset, measure and design for each pair of Parquet files,
    from which ΔLogLik by the `endpoint` is computed. LMs with the same `but_for_seed` (`lm` in the
    table) differ only in their seed. A pair's row has the difference of the two, for the seeds that
    both have. delta_loglik is the mean over seeds of the sum over sentences; the sds are of that
    sum for one seed; se_seeds and se_sentences are its standard errors by source, and se includes
    both and the residual's. low and high are its 95 % interval (half_width()). `words` are the datasets'
    words, in folders of their names.
    """
    by_response: dict[tuple[str, str, str], dict[str, dict[Any, pd.Series]]] = {}
    every = delta_loglik.read_parts(endpoint, full, base)
    places = shared_texts.of_files(words)
    for cell, parts in zip(cells, every, strict=True):
        if cell["dataset"] in places:
            parts = places[cell["dataset"]].placed(parts, cell["dataset"])
        sums = parts.groupby("sentence")["delta_loglik"].agg(lambda part: part.sum(skipna=False))
        response = (cell["dataset"], cell["measure"], cell["design"])
        by_lm = by_response.setdefault(response, {})
        seeds = by_lm.setdefault(cell["but_for_seed"], {})
        if cell["seed"] in seeds:
            raise InputError(
                f"lms: two LMs that are {cell['but_for_seed']!r} have the seed {cell['seed']}; "
                "use a different seed for each"
            )
        seeds[cell["seed"]] = sums
    rows = []
    for response, by_lm in by_response.items():
        names = dict(zip(("dataset", "measure", "design"), response, strict=True))
        for lm, seeds in by_lm.items():
            values = np.array([seeds[seed] for seed in sorted(seeds)])
            rows.append({"lm": lm, "against": "", **names, **row(values)})
        for a, b in itertools.combinations(by_lm, 2):
            shared = sorted(by_lm[a].keys() & by_lm[b].keys())
            if shared:
                values = np.array([by_lm[a][seed] - by_lm[b][seed] for seed in shared])
                rows.append({"lm": a, "against": b, **names, **row(values)})
    write_csv(out, pd.DataFrame(rows, columns=COLUMNS, dtype=object))


def components(values: np.ndarray) -> Components:
    """Partition the variance of values (S, I) by seed and item: a two-way random-effects analysis.

    Negative components are set to 0; with one seed, those of seed and residual are NaN.
    """
    S, I = values.shape
    mean = values.mean()
    by_seed, by_item = values.mean(1) - mean, values.mean(0) - mean
    if S < 2 or I < 2:
        item = by_item.std(ddof=1) if I > 1 else math.nan
        return Components(float(mean), math.nan, float(item), math.nan)
    left = values - mean - by_seed[:, None] - by_item
    residual = (left**2).sum() / ((S - 1) * (I - 1))
    seed = max(0.0, (I * (by_seed**2).sum() / (S - 1) - residual) / I)
    item = max(0.0, (S * (by_item**2).sum() / (I - 1) - residual) / S)
    return Components(float(mean), math.sqrt(seed), math.sqrt(item), math.sqrt(residual))


def half_width(values: np.ndarray) -> float:
    """Return half the width of the 95 % interval of the sum over sentences, averaged over seeds.

    The interval is that of a·Z + b·T, the rule of `crosslmm.stats.totals` in closed form: Z is
    standard normal and a the standard error over sentences of the mean of the seeds; T has
    Student's t distribution with S - 1 degrees of freedom and b is the standard error of the seeds'
    totals. Both a and b contain the residual (seed by sentence), so the interval is conservative.
    `se` of the table counts the residual once.

    Parameters
    ----------
    values : ndarray of shape (seeds, sentences)
        ΔLogLik in nats.

    Returns
    -------
    float
        In nats. With one seed, only the sentences' part; NaN with a single sentence or missing
        values.
    """
    from scipy import optimize, special

    S, I = values.shape
    if I < 2 or not np.isfinite(values).all():
        return math.nan
    sentences = math.sqrt(I) * float(values.mean(0).std(ddof=1))
    normal = float(special.ndtri((1 + LEVEL) / 2)) * sentences
    if S < 2:
        return normal
    seeds = float(values.sum(1).std(ddof=1)) / math.sqrt(S)
    student = float(special.stdtrit(S - 1, (1 + LEVEL) / 2)) * seeds
    # Below a twentieth, the narrower part widens the sum by at most 0.2 %.
    if min(normal, student) <= max(normal, student) / 20:
        return max(normal, student)
    drawn = seeds * _student_quantiles(S - 1)

    def excess(half: float) -> float:
        return float(special.ndtr((half - drawn) / sentences).mean()) - (1 + LEVEL) / 2

    return float(optimize.brentq(excess, max(normal, student), normal + student))


@functools.cache
def _student_quantiles(freedom: int, number: int = 20_000) -> np.ndarray:
    """Return equally probable values (number,) of Student's t distribution."""
    from scipy import special

    return special.stdtrit(freedom, (np.arange(number) + 0.5) / number)


def row(values: np.ndarray) -> dict[str, Any]:
    """Return the statistics of ΔLogLik by seed and sentence (S, I): sums over the sentences."""
    S, I = values.shape
    parts = components(values)
    total = I * parts.mean
    se_seeds = I * parts.seed / math.sqrt(S)
    se_sentences = math.sqrt(I) * parts.item
    residual = 0.0 if math.isnan(parts.residual) else parts.residual
    # With one seed, variation between seeds is unknown: the standard error is that of the sentences.
    between = 0.0 if math.isnan(se_seeds) else se_seeds
    se = math.sqrt(between**2 + se_sentences**2 + I * residual**2 / S)
    half = half_width(values)
    figures = {
        "delta_loglik": total,
        "sd_seed": I * parts.seed,
        "sd_sentence": math.sqrt(I) * parts.item,
        "sd_residual": math.sqrt(I) * parts.residual,
        "se_seeds": se_seeds,
        "se_sentences": se_sentences,
        "se": se,
        "low": total - half,
        "high": total + half,
    }
    return {"seeds": S, "sentences": I, **{name: float(x) for name, x in figures.items()}}
