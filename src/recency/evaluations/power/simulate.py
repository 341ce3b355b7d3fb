"""Rule simulate_power: the chance of finding a ΔLogLik with n subjects and m sentences.

From simulated readers. Every repeat draws m whole sentences of the dataset and n new readers (simulation.readers), parts
their times as the workflow does, fits the design and its base on the fit partition and scores the
exploratory one. It has found the effect if the permutation test of squared errors, observation by
observation, is significant in favour of the full model, or if ΔLogLik reaches a given size.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.files import atomic
from recency.mixed import likelihood
from recency.mixed.deviance import solve
from recency.mixed.factors import crossed_factors, nested_group
from recency.mixed.formula import Formula, column
from recency.mixed.levels import levels
from recency.mixed.scaling import scaled, scaling_of
from recency.mixed.sums import products_of
from recency.mixed.theta_search import search
from recency.progress import progress
from recency.reading.observations import partition
from recency.regression.designs import check_mixed, columns_there, formula_of
from recency.regression.texts import Texts, read_texts, word_values
from recency.simulation import readers as simulated
from recency.simulation.readers import WORD_TERMS, Readers
from recency.stats.permutation import permutation_p
from recency.stats.proportions import wilson

COLUMNS = [
    *("subjects", "sentences", "effect", "repeats", "n_exploratory"),
    *("delta_loglik", "delta_loglik_sd", "found", "chance", "low", "high"),
]


@dataclass(frozen=True)
class Size:
    """One experiment: how many subjects and sentences, and the share of the effects they have."""

    subjects: int
    sentences: int
    effect: float


def main(
    words: str | PathLike,
    surprisal: str | PathLike,
    unigram: str | PathLike,
    out: str | PathLike,
    *,
    readers: Mapping[str, Any],
    design: Mapping[str, Any],
    subjects: Sequence[int],
    sentences: Sequence[int],
    effects: Sequence[float] = (1.0,),
    delta_loglik: Sequence[float] = (),
    repeats: int = 100,
    permutations: int = 999,
    alpha: float = 0.05,
    seed: int = 0,
) -> None:
    """Write a row of COLUMNS for each size and each way to have found the effect (CSV).

    `readers` are the fields of simulation.readers.Readers; their number and seed are replaced.
    `effects` multiply the effects of interest, the subjects' differences in them too: 0 gives the
    rate of false alarms. A row's `found` is "p < <alpha>" or, for each size in `delta_loglik`
    (nats), "ΔLogLik ≥ <size>"; `chance` has a 95 % Wilson interval. delta_loglik is the mean over
    the repeats, on the exploratory partition, given the random effects.
    """
    there = columns_there(words, None)
    check_mixed(design, "a study of power")
    formulas = [formula_of(design, model, there) for model in ("full", "base")]
    for formula in formulas:
        if formula.response != "time_ms":
            raise InputError(
                f"power: simulated readers have times alone, and the design's formula predicts "
                f"{formula.response}; write 'time_ms ~ …'"
            )
        if nested_group(formula):
            raise InputError("power: nested random effects take too long here; leave them out")
    frame = pd.read_parquet(words)
    spillover = design.get("spillover", "item")
    texts = read_texts(words, unigram, surprisal, design["surprisal"], spillover=spillover)
    for name in {name for formula in formulas for name in formula.predictors}:
        if name != "previous_fixated" and word_values(texts, name) is None:
            raise InputError(f"power: simulated readers have no {name}; leave it out of the design")
    sizes = [Size(n, m, e) for e in effects for m in sentences for n in subjects]
    there = frame["sentence"].nunique()
    if max(sentences) > there:
        raise InputError(
            f"power: {max(sentences)} sentences were asked for, and {words} has {there}; "
            "ask for fewer, or simulate more stories"
        )
    shown = progress(len(sizes) * repeats, "power", "experiments")
    rows = []
    for index, size in enumerate(sizes):
        found = []
        for repeat in range(repeats):
            # The same draws for every effect, so that its sizes compare like with like.
            draws = np.random.SeedSequence([seed, size.subjects, size.sentences, repeat])
            found.append(
                experiment(frame, texts, readers, design, formulas, size, draws, permutations)
            )
            shown.update(index * repeats + repeat + 1)
        rows += summary(size, found, alpha, delta_loglik)
    with atomic(out) as path:
        pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False, lineterminator="\n")


def experiment(
    words: pd.DataFrame,
    texts: Texts,
    readers: Mapping[str, Any],
    design: Mapping[str, Any],
    formulas: Sequence[Formula],
    size: Size,
    draws: np.random.SeedSequence,
    permutations: int,
) -> tuple[float, float, int]:
    """Run one experiment; return ΔLogLik, p (1 where the base is better) and its observations."""
    random = np.random.default_rng(draws)
    chosen = random.choice(words["sentence"].unique(), size.sentences, replace=False)
    kept = np.flatnonzero(words["sentence"].isin(chosen))
    effects = {
        part: {
            name: value * (size.effect if name in design["of_interest"] else 1.0)
            for name, value in readers[part].items()
        }
        for part in ("coefficients", "subject_sd")
    }
    group = Readers(
        **dict(readers)
        | effects
        | {"subjects": size.subjects, "items": None}
        | {"seed": int(random.integers(2**31)), "slips": 0.0, "lapses": 0.0}
    )
    x = pd.DataFrame({name: texts.predictors[name][kept] for name in WORD_TERMS})
    times = simulated.read(words.iloc[kept].reset_index(drop=True), x, group)
    times["word_id"] = np.tile(kept, size.subjects)
    if "fixated" in times:
        times = times[times["fixated"]].reset_index(drop=True)
    part = partition(times).to_numpy()
    names = {name for formula in formulas for name in formula.predictors}
    raw = {name: _values(name, times, texts) for name in sorted(names)}
    y = times["time_ms"].to_numpy(np.float64)
    y = np.log(y) if design["response"] == "log" else y
    fit, other = part == "fit", part == "exploratory"
    scaling = scaling_of({name: values[fit] for name, values in raw.items()})
    predictors = scaled(raw, scaling)
    groups = {name: levels(times[name]) for name in ("subject", "sentence", "item")}
    residuals, sigmas = zip(
        *(_residuals(formula, predictors, y, groups, fit, other) for formula in formulas),
        strict=True,
    )
    full, base = map(likelihood.contributions, residuals, sigmas)
    delta = float((full - base).sum())
    difference = residuals[0] ** 2 - residuals[1] ** 2
    seed = int(random.integers(2**31))
    p = permutation_p(difference, permutations, seed) if difference.sum() < 0 else 1.0
    return delta, p, int(other.sum())


def _values(name: str, times: pd.DataFrame, texts: Texts) -> np.ndarray:
    if name == "previous_fixated":
        return times[name].to_numpy(np.float64)
    return word_values(texts, name)[times["word_id"].to_numpy()]


def _residuals(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Any],
    fit: np.ndarray,
    other: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Fit rows `fit`; return the residuals of rows `other`, given the random effects, and sigma."""
    factors = crossed_factors(formula)
    factors.sort(key=lambda f: -len(f.columns) * len(groups[f.group].names))
    inside = {name: values[fit] for name, values in predictors.items()}
    codes = {f.group: type(groups[f.group])(groups[f.group].codes[fit], groups[f.group].names)
             for f in factors}  # fmt: skip
    products = products_of(formula, factors, inside, y[fit], codes)
    free = [factor.free for factor in factors]
    free += [np.zeros((0, 0), dtype=bool)] * (2 - len(free))
    found = search(products, *free)
    at = solve(products, found.La, found.Lb)
    outside = {name: values[other] for name, values in predictors.items()}
    n = int(other.sum())
    centre = y[fit].mean()  # products_of() fits y less its mean
    predicted = np.full(n, centre)
    if len(at.beta) != len(formula.fixed):
        raise InputError(
            "power: a predictor is constant, or follows from others, in an experiment of "
            f"{len(np.unique(groups['sentence'].codes))} sentences; ask for more sentences"
        )
    for name, value in zip(formula.fixed, at.beta, strict=True):
        predicted += value * column(name, outside, n)
    for factor, modes in zip(factors, (at.modes_a, at.modes_b), strict=False):
        code = groups[factor.group].codes[other]
        for index, name in enumerate(factor.columns):
            predicted += modes[code, index] * column(name, outside, n)
    return y[other] - predicted, at.sigma


def summary(
    size: Size, found: Sequence[tuple[float, float, int]], alpha: float, given: Sequence[float]
) -> list[dict[str, Any]]:
    """Return the rows of one size: the chance of each way to have found the effect."""
    delta, p, n = (np.array(values) for values in zip(*found, strict=True))
    ways = {f"p < {alpha:g}": p < alpha} | {
        f"ΔLogLik ≥ {least:g}": delta >= least for least in given
    }
    rows = []
    for name, hits in ways.items():
        chance = float(hits.mean())
        low, high = wilson(chance, len(hits))
        rows.append(
            {
                "subjects": size.subjects,
                "sentences": size.sentences,
                "effect": size.effect,
                "repeats": len(hits),
                "n_exploratory": float(n.mean()),
                "delta_loglik": float(delta.mean()),
                "delta_loglik_sd": float(delta.std(ddof=1)) if len(delta) > 1 else math.nan,
                "found": name,
                "chance": chance,
                "low": min(low, chance),  # rounding may put an end beyond a chance of 0 or 1
                "high": max(high, chance),
            }
        )
    return rows
