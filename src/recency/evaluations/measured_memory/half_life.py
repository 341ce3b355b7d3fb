"""Half-life of a measured memory: an exponential with a floor, fitted to effects by distance.

The next word is excluded from the fit: every LM, even a bigram model, depends most on the previous
word, and the fit measures how fast the remaining effect fades.

Next to it, the memory implied by an LM's settings: half-life of a slope or state, or length of a window.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crosslmm.stats import totals
from crosslmm.stats.totals import Draws
from recency.errors import InputError
from recency.figures import encoding
from recency.figures.comparison import LM

REPLICATES = 1000
#: Shortest half-life of the search, words; the longest is the farthest distance.
SHORTEST = 0.1
STEP = 0.003  # of the logarithm of the half-lives of the search
TESTED = 60  # half-lives at which a decline is tested
PARAMETERS = 3  # A, h and C; fewer distances than one more are not fitted
LEVEL = 0.95
NEXT = 1  # words: the distance that the fit excludes


@dataclass(frozen=True)
class Memory:
    """Mean absolute change of surprisal by distance for one LM, and its summaries.

    Intervals are at 95 %. `half_life` and `floor` are NaN where the half-life is not identified.
    Then the interval is (x, inf) for "longer than x", (0, x) for "shorter than x", or (NaN, NaN).
    """

    distance: np.ndarray  # words, 1 for the next word
    effect: np.ndarray  # mean |change|, bits
    low: np.ndarray  # its interval, for new words and seeds
    high: np.ndarray
    half_life: float  # words
    half_life_low: float
    half_life_high: float
    floor: float  # bits
    half_within: float  # words that contain half of the summed effect, excluding the next word
    half_within_low: float
    half_within_high: float
    replacements: int
    units: list[float] | None = None  # quartiles of the half-lives of fading units, tokens

    @property
    def is_identified(self) -> bool:
        """Whether the half-life is identified."""
        return math.isfinite(self.half_life)


def fit_exponential(distance: np.ndarray, effects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit A·2^(−d/h) + C with A > 0 and C ≥ 0 by least squares.

    The half-life h is searched on a grid from `SHORTEST` to the farthest distance, in steps of
    0.3 %; for each h the nonnegative least-squares solution for A and C has a closed form.

    Parameters
    ----------
    distance : ndarray of shape (distances,)
        In words.
    effects : ndarray of shape (n, distances)
        Nonnegative effects in bits, one curve per row.

    Returns
    -------
    half_lives, floors : ndarray of shape (n,)
        h in words and C in bits. h is NaN where no exponential fits better than a constant.
    """
    lives = _half_lives(distance)
    curves = np.exp2(-(distance - distance[0]) / lives[:, None])  # (lives, distances)
    centred = curves - curves.mean(1, keepdims=True)
    mean = effects.mean(1, keepdims=True)
    amplitude = effects @ (centred / (centred**2).sum(1, keepdims=True)).T  # (n, lives)
    floor = mean - amplitude * curves.mean(1)
    # Gains are reductions of the residual sum of squares, relative to the constant C = mean.
    gain = amplitude**2 * (centred**2).sum(1)
    without_floor = (effects @ curves.T) ** 2 / (curves**2).sum(1) - len(distance) * mean**2
    gain = np.where(floor < 0, without_floor, gain)
    gain[amplitude <= 0] = -math.inf
    best = gain.argmax(1)
    rows = np.arange(len(effects))
    fades = gain[rows, best] > 1e-12 * len(distance) * mean[:, 0] ** 2
    return np.where(fades, lives[best], math.nan), np.maximum(floor[rows, best], 0.0)


def declines(distance: np.ndarray, means: Sequence[Draws]) -> bool:
    """Test whether an exponential with a floor describes the effect better than a constant.

    The statistic is the largest t = A/SE of the exponentials of `TESTED` half-lives, compared with
    its bootstrap distribution under A = 0 [1]_, one-sided at 5 %. The search over half-lives is
    part of the test.

    Parameters
    ----------
    distance : ndarray of shape (distances,)
        In words.
    means : sequence of Draws
        The mean effect at each distance, in bits.

    References
    ----------
    .. [1] Romano, J. P., & Wolf, M. (2005). Stepwise multiple testing as formalized data snooping.
       Econometrica, 73(4), 1237-1282.
    """
    lives = np.geomspace(SHORTEST, distance.max(), TESTED)
    curves = np.exp2(-(distance - distance[0]) / lives[:, None])
    centred = curves - curves.mean(1, keepdims=True)
    weights = (centred / (centred**2).sum(1, keepdims=True)).T
    effect = _effects(means)
    amplitude = effect @ weights  # (lives,)
    replicates = _draws(means) @ weights  # (replicates, lives)
    # Draws of few seeds may have no finite variance; the standard error is that of words and seeds.
    of_words = np.column_stack([mean.drawn[totals.UNIT] for mean in means]) @ weights
    of_seeds = np.column_stack([np.atleast_1d(mean.seeds) for mean in means]) @ weights
    se = np.hypot(of_words.std(0, ddof=1), np.linalg.norm(of_seeds, axis=0))
    size = np.abs(effect).max()
    if not (amplitude > 1e-12 * size).any():
        return False
    se = np.maximum(se, 1e-12 * size)  # replicates that hardly differ
    under_null = ((replicates - amplitude) / se).max(1)
    return bool((amplitude / se).max() > np.quantile(under_null, LEVEL))


def measured(*changes: pd.DataFrame, seed: int = 0, replicates: int = REPLICATES) -> Memory:
    """Summarize the memory of an LM.

    The effect is the mean over the LM's seeds. A bootstrap resamples the replaced words, the same
    ones for all seeds, and adds the variation of new seeds (`crosslmm.stats.totals`). As effects are
    absolute changes, negative replicates are set to 0.

    The half-life is *identified*, and reported, where all three of these hold:

    1. the effect declines (`declines`);
    2. at most 2.5 % of the replicates fit a constant best;
    3. neither end of the 95 % interval is a bound of the search, `SHORTEST` or the farthest
       distance.

    If only 3 fails, at one bound, the interval is open on that side: "longer than x", where 97.5 %
    of the replicates are longer than x, or "shorter than x". Otherwise there is no interval.

    Parameters
    ----------
    *changes : DataFrame
        Columns place, distance (words) and change_bits, one table per seed (`replace.changes`).
    seed : int
        Seed of the bootstrap.
    replicates : int
        Number of bootstrap replicates.

    Raises
    ------
    InputError
        If the seeds were not measured at the same words and distances.
    """
    sizes = [table.assign(size=table.change_bits.abs()) for table in changes]
    grids = [table.pivot(index="place", columns="distance", values="size") for table in sizes]
    if any(
        not (g.index.equals(grids[0].index) and g.columns.equals(grids[0].columns)) for g in grids
    ):
        raise InputError("the seeds of an LM were not measured at the same words and distances")
    values, distance = np.stack(grids), grids[0].columns.to_numpy(float)
    means = totals.resample_means(values, seed, replicates)
    effect, resampled = _effects(means), np.maximum(_draws(means), 0.0)
    low, high = np.quantile(resampled, _ends(), axis=0)
    later = distance > NEXT
    far, mean, draws = distance[later], effect[later], resampled[:, later]
    half_life, floor, life_low, life_high = _identify(far, means[len(means) - len(far) :])
    within = half_distance(far, mean[None])[0]
    ends = half_distance(far, draws)
    ends = ends[np.isfinite(ends)]
    ends = np.quantile(ends, _ends(), method="inverted_cdf") if len(ends) else [math.nan] * 2
    return Memory(
        distance, effect, low, high, half_life, life_low, life_high, floor,
        float(within), *map(float, ends), values.shape[1],
    )  # fmt: skip


def half_distance(distance: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Return the distances (n,) within which half of the summed `effects` (n, distances) falls.

    NaN if there is no effect.
    """
    if not len(distance):
        return np.full(len(effects), math.nan)
    summed = effects.cumsum(1)
    reached = summed >= summed[:, -1:] / 2
    return np.where(summed[:, -1] > 0, distance[reached.argmax(1)], math.nan)


def _half_lives(distance: np.ndarray) -> np.ndarray:
    """Return the half-lives (words) of the search; the first and last are its bounds."""
    number = math.ceil(math.log(distance.max() / SHORTEST) / STEP) + 1
    return np.geomspace(SHORTEST, distance.max(), number)


def _ends() -> tuple[float, float]:
    """Return the quantile levels of an interval's ends."""
    return (1 - LEVEL) / 2, (1 + LEVEL) / 2


def _effects(means: Sequence[Draws]) -> np.ndarray:
    """Return the mean effects (distances,)."""
    return np.array([mean.value for mean in means])


def _draws(means: Sequence[Draws]) -> np.ndarray:
    """Return the replicates (replicates, distances) of mean effects."""
    return np.column_stack([mean.of(totals.UNIT) for mean in means])


def _identify(distance: np.ndarray, means: Sequence[Draws]) -> tuple[float, float, float, float]:
    """Return half-life, floor and the ends of the half-life's interval; see `measured`."""
    unknown, effect = (math.nan,) * 4, _effects(means)
    if len(distance) <= PARAMETERS or not effect.any():
        return unknown
    if not declines(distance, means):
        return unknown
    resampled = np.maximum(_draws(means), 0.0)
    (half_life,), (floor,) = fit_exponential(distance, effect[None])
    lives, _ = fit_exponential(distance, resampled)
    tail = _ends()[0]
    if np.isnan(half_life) or np.isnan(lives).mean() > tail:
        return unknown
    bounds = _half_lives(distance)[[0, -1]]
    low, high = np.quantile(lives[np.isfinite(lives)], _ends(), method="inverted_cdf")
    at_shortest = min(low, half_life) <= bounds[0] * (1 + STEP)
    at_longest = max(high, half_life) >= bounds[1] / (1 + STEP)
    if at_shortest and at_longest:
        return unknown
    if at_shortest:
        return math.nan, math.nan, 0.0, float(high)
    if at_longest:
        return math.nan, math.nan, float(low), math.inf
    return float(half_life), float(floor), float(low), float(high)


#: Quantiles of the units' half-lives in a scored LM's file; see score.
UNITS, QUANTILES = "unit_half_lives", (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Stated:
    """Half-life in tokens, with quartiles for learned units, or length of a window; else NaN."""

    half_life: float = math.nan
    low: float = math.nan
    high: float = math.nan
    window: float = math.nan


def stated_memory(lm: LM, units: list[float] | None = None) -> Stated:
    """Return the memory implied by an LM's bias or memory; `units` are quartiles of half-lives.

    ALiBi's slope m for all heads has the half-life ln 2/m tokens, and a state that fades by α has
    ln 2/-ln α (for the SRNN, C as α, ignoring its tanh).
    """
    memory = lm.network.get("memory", {})
    if memory.get("decay") == 0:
        return Stated(window=memory.get("window", 1))
    if units:
        low, middle, high = units
        return Stated(middle, low, high)
    if memory:
        return Stated()
    if lm.bias["form"] == "window" and "width" in lm.bias:
        return Stated(window=lm.bias["width"])
    slope = encoding.slope(lm.bias)
    return Stated(math.log(2) / slope) if slope else Stated()
