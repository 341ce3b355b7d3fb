"""The crossed bootstrap: log-likelihood of subjects and sentences that a fit has not seen.

Each draw resamples subjects and sentences jointly, with replacement, refits the model to the rows
of the drawn subjects on the drawn sentences, and scores the rows of subjects that were not drawn on
sentences that were not drawn. Their score is the marginal log-likelihood, with the effects of new
subjects and new sentences integrated out. The score of a cell (a subject's rows of a sentence) is
its mean over the draws that leave out both: the leave-one-out bootstrap of Efron & Tibshirani
(1997), crossed.

Intervals are computed from the scores of cells (crosslmm.stats.crossed_samples). Models without a
factor of sentences are scored in the same way. If the second factor is larger than a sentence, such
as the text, its levels are resampled instead. Of an experiment's items, stimuli are resampled, with all
their conditions: the score of a cell is the joint density of a subject's responses to a stimulus.

References
----------
Efron, B. & Tibshirani, R. (1997). Improvements on cross-validation: the .632+ bootstrap method.
*Journal of the American Statistical Association* 92, 548-560.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from crosslmm.cells import Cells, Fit
from crosslmm.factors import Factor, Levels, levels
from crosslmm.formula import Formula
from crosslmm.recorded import scaled
from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.endpoints import DRAWS, UNIT, WITHOUT_GROUP
from recency.regression.covered_endpoints import NotCrossed, factors_of
from recency.regression.estimation import prepared
from recency.regression.inputs import Inputs, read_data
from recency.regression.predictors import Rows, concatenate_rows

FEWEST = 8
"""Smallest number of subjects or sentences that is resampled."""
ENOUGH = 1e-4
"""A refit stops when the expected decrease of the deviance is below this."""
PILOTS = 8
"""Draws whose refits determine where those of all draws start."""
FAILED = 0.1
"""Largest share of draws that may lack a finite likelihood."""
COLUMNS = ("subject", "unit", "n", "loglik")
GROUPS = 10
"""Groups of draws, each of which is left out to estimate the error of a finite number of draws."""


def main(
    inputs: Inputs,
    out: str | PathLike,
    *,
    lm: str,
    design: Mapping[str, Any],
    model: str,
    dataset: str,
    draws: int = DRAWS,
    seed: int = 0,
) -> None:
    """Score a model of a design by the crossed bootstrap; write `scores` as Parquet.

    Files and design are as for recency.regression.fit.main. The fit and exploratory partitions are
    pooled; the held-out one is not used. Models of the same `dataset` and `seed` share their draws.
    """
    data = read_data(inputs, design, model)
    rows = concatenate_rows([part for part in (data.fit, data.exploratory) if part is not None])
    formula, scaling, _ = prepared(data.formula, data.texts, rows, data.coding)
    predictors = scaled(rows.predictors, scaling)
    label = f"{lm}, {model}: crossed bootstrap"
    whole = data.texts.whole
    stimuli = None if whole is None else levels(whole[rows.word])
    frame = scores(formula, rows, predictors, draws, seed, dataset, label, stimuli)
    with atomic(out) as path:
        frame.to_parquet(path, compression="zstd", index=False)


@dataclass
class _Axis:
    """One axis of the cells: a grouping factor, if any, and the units that are resampled."""

    factor: Factor | None
    codes: np.ndarray
    """level of each row (n,)"""
    unit: np.ndarray
    """unit of each level"""
    names: list[str]
    """names of the units"""

    @property
    def size(self) -> int:
        """The number of this axis's random effects."""
        return len(self.unit) * (len(self.factor.columns) if self.factor else 0)


def scores(
    formula: Formula,
    rows: Rows,
    predictors: Mapping[str, np.ndarray],
    draws: int = DRAWS,
    seed: int = 0,
    name: str = "",
    label: str = "",
    stimuli: Levels | None = None,
) -> pd.DataFrame:
    """Return the score of each cell, by fits that have seen neither its subject nor its sentence.

    Parameters
    ----------
    formula
        A linear mixed model.
    rows
        The observations.
    predictors
        Their scaled predictors (n,), by name.
    draws
        Number of bootstrap draws.
    seed, name
        Seed of the draws: models of the same dataset `name` share them.
    label
        Name of the model in the progress display.
    stimuli
        The stimulus of each row (n,), of an experiment's items: resampled in place of sentences.

    Returns
    -------
    pandas.DataFrame
        A row per cell: subject, unit (a sentence's id, a stimulus, or the level of the formula's
        larger factor), n (observations) and loglik (their log-likelihood, natural logarithm). The
        attribute `without_group` has the total of loglik without each group of draws, `unit` the
        name of what units are.

    Raises
    ------
    NotCrossed
        If the model or the data are not covered.
    """
    subject, other = factors_of(formula)
    axes = [_subjects(subject, rows), _sentences(other, rows, formula, stimuli)]
    unit = _name_of_unit(axes[1], other, rows, stimuli)
    kinds = [
        "subjects",
        {"sentence": "sentences", "stimulus": "stimuli"}.get(unit, f"levels of {unit}"),
    ]
    for axis, kind in zip(axes, kinds, strict=True):
        if len(axis.names) < FEWEST:
            raise NotCrossed(
                f"{label or formula}: {len(axis.names)} {kind} are too few for the crossed bootstrap, "
                f"which needs {FEWEST}; set `bootstrap: given_fits` in the experiment"
            )
    # The axis with more random effects is eliminated first.
    first, second = sorted((0, 1), key=lambda place: -axes[place].size)
    a, b = axes[first], axes[second]
    if a.factor is None:
        a, b, first, second = b, a, second, first
    cells = Cells(
        formula, a.factor, b.factor, predictors, rows.y, a.codes, b.codes,
        (len(a.unit), len(b.unit)),
    )  # fmt: skip
    total, seen = _score_pairs(cells, (a, b), draws, (seed, name), label)
    n = _by_unit(cells.n, a, b)
    where_a, where_b = np.nonzero(n)
    total, seen = total[:, where_a, where_b], seen[:, where_a, where_b]
    with np.errstate(invalid="ignore"):
        mean = total.sum(0) / seen.sum(0)
        without = (total.sum(0) - total) / (seen.sum(0) - seen)
    by_column = {
        "n": n[where_a, where_b].astype(np.int32),
        "loglik": mean,
        ("subject", "unit")[first]: np.array(a.names)[where_a],
        ("subject", "unit")[second]: np.array(b.names)[where_b],
    }
    frame = pd.DataFrame({column: by_column[column] for column in COLUMNS})
    if not np.isfinite(frame.loglik).all():
        raise NotCrossed(
            f"{label or formula}: some subject's sentence was left out by none of {draws} draws; ask "
            "for more draws"
        )
    frame = frame.sort_values(["subject", "unit"], ignore_index=True)
    frame.attrs[UNIT] = unit
    frame.attrs[WITHOUT_GROUP] = np.where(np.isfinite(without), without, mean).sum(1).tolist()
    return frame


def _score_pairs(
    cells: Cells, axes: tuple[_Axis, _Axis], draws: int, seed: tuple[int, str], label: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair of units' sum of scores over each group of draws, and its number of draws."""
    (a, b), seeds = axes, _seeds(axes, seed)

    def frequencies(number: int) -> list[np.ndarray]:
        pairs = zip(axes, seeds, strict=True)
        return [resampled(axis.names, (*of_axis, number)) for axis, of_axis in pairs]

    first = [frequencies(number) for number in range(min(PILOTS, draws))]
    try:
        start = cells.warm_start([(of_a[a.unit], of_b[b.unit]) for of_a, of_b in first], ENOUGH)
    except np.linalg.LinAlgError as reason:
        raise NotCrossed(f"{label}: the model has no finite likelihood: {reason}") from None
    total, seen = np.zeros((2, min(GROUPS, draws), len(a.names), len(b.names)))
    shown, failed = progress(draws, label, "draws"), 0
    for number in range(draws):
        times = frequencies(number)
        inside = times[0][a.unit], times[1][b.unit]
        outside = (inside[0] == 0).astype(int), (inside[1] == 0).astype(int)
        if not outside[0].any() or not outside[1].any():
            continue
        try:
            fit = cells.fit(*inside, start, ENOUGH)
            total[number % GROUPS] += _by_unit(score(cells, fit, outside), a, b)
        except np.linalg.LinAlgError:
            failed += 1
            continue
        seen[number % GROUPS] += np.outer(times[0] == 0, times[1] == 0)
        shown.update(number + 1)
    if failed > FAILED * draws:
        raise NotCrossed(
            f"{label}: {failed} of {draws} draws have no finite likelihood; there are too few subjects "
            "or sentences for this formula: set `bootstrap: given_fits` in the experiment"
        )
    return total, seen


def resampled(names: list[str], seed: tuple[int, str, int]) -> np.ndarray:
    """Return how often each unit occurs in a draw with replacement, (units,).

    The units' names are part of the seed: models of the same observations share their draws.
    """
    number, dataset, draw = seed
    stream = [number, zlib.crc32(dataset.encode()), zlib.crc32("\t".join(names).encode()), draw]
    many = len(names)
    return np.random.default_rng(stream).multinomial(many, np.full(many, 1 / many))


def _seeds(axes: tuple[_Axis, _Axis], seed: tuple[int, str]) -> list[tuple[int, str]]:
    """Return the seed of each axis; they differ if subjects and sentences have the same names."""
    if axes[0].names != axes[1].names:
        return [seed, seed]
    is_subject = [axis.factor is not None and axis.factor.group == "subject" for axis in axes]
    return [(seed[0], f"{seed[1]}\tsubjects") if subject else seed for subject in is_subject]


def score(cells: Cells, fit: Fit, outside: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the log-likelihood (G, H) of each cell of the levels `outside`, 0 elsewhere."""
    value, parts = cells.log_density(fit, *outside)
    if not np.isclose(parts.sum(), value, rtol=1e-6, atol=1e-6):
        raise ArithmeticError(
            f"the cells' log-likelihoods sum to {parts.sum()!r}, not to {value!r}"
        )
    return parts


def _by_unit(values: np.ndarray, a: _Axis, b: _Axis) -> np.ndarray:
    """Sum values of pairs of levels (G, H) over pairs of units."""
    if len(a.names) == len(a.unit) and len(b.names) == len(b.unit):
        return values
    sums = np.zeros((len(a.names), len(b.names)))
    np.add.at(sums, (a.unit[:, None], b.unit), values)
    return sums


def _subjects(factor: Factor, rows: Rows) -> _Axis:
    group = rows.groups["subject"]
    return _Axis(factor, group.codes, np.arange(len(group.names)), group.names)


def _sentences(
    factor: Factor | None, rows: Rows, formula: Formula, stimuli: Levels | None
) -> _Axis:
    """Return the axis of sentences or stimuli, or of a larger factor that they are nested in."""
    whole = rows.groups["sentence"] if stimuli is None else stimuli
    if factor is None:
        return _Axis(None, whole.codes, np.arange(len(whole.names)), whole.names)
    group = rows.groups[factor.group]
    pairs = np.unique(np.column_stack([group.codes, whole.codes]), axis=0)
    if len(pairs) == len(group.names):  # each level lies in one sentence or stimulus, or is one
        return _Axis(factor, group.codes, pairs[:, 1], whole.names)
    if len(pairs) == len(whole.names):  # each of them lies in one level
        return _Axis(factor, group.codes, np.arange(len(group.names)), group.names)
    kind = "sentences" if stimuli is None else "stimuli"
    raise NotCrossed(
        f"formula '{formula}': {factor.group} is crossed with {kind}, and the crossed bootstrap "
        "covers no third crossed factor; set `bootstrap: given_fits` in the experiment"
    )


def _name_of_unit(axis: _Axis, factor: Factor | None, rows: Rows, stimuli: Levels | None) -> str:
    """Return what the units of the second axis are: sentence, stimulus, or a larger factor."""
    if stimuli is not None and axis.names is stimuli.names:
        return "stimulus"
    if axis.names is rows.groups["sentence"].names or factor is None:
        return "sentence"
    return factor.group
