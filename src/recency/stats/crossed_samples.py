"""Intervals of sums over two crossed samples, such as subjects and sentences, and training seeds.

A total is the sum of the scores of cells: pairs of a subject and a sentence, both of which are
samples. Its variance is the two-way clustered one (Cameron, Gelbach & Miller 2011): the variance
between subjects, plus that between sentences, minus that between cells, and at least the larger of
the first two. Scores are centred by their mean per observation, so that subjects who read more do
not vary for that reason. The interval is Student's, with Satterthwaite's degrees of freedom.

Variation between training seeds is added: Student's t with S - 1 degrees of freedom times the
standard error of the seeds' mean.

References
----------
Cameron, A. C., Gelbach, J. B. & Miller, D. L. (2011). Robust inference with multiway clustering.
*Journal of Business & Economic Statistics* 29, 238-249.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from recency.stats.bootstrap import largest_t

POINTS = 2_000
"""Points of a numerical integral."""
BY = "crossed"
"""Value of `by` for these intervals; others are by subject or by sentence."""
DRAWN = 20_000
"""Simulated values, where a quantile has no closed form."""


@dataclass(frozen=True)
class Scores:
    """A total of scored cells, or a difference of two.

    Attributes
    ----------
    value
        The total.
    n
        Number of observations.
    cells
        By sample (dataset): scores less their mean per observation (subjects, sentences).
    seeds
        By training seed, the deviation of its total from the mean, over sqrt(S (S - 1)); the norm
        is the standard error of the mean over the seeds.
    freedom
        S - 1; for a difference of two LMs that both have several seeds, the smaller S - 1.
    """

    value: float
    n: int
    cells: Mapping[str, np.ndarray]
    seeds: np.ndarray | float = 0.0
    freedom: int = 0

    def __add__(self, other: Scores) -> Scores:
        return self._with(other, 1, self.n + other.n)

    def __sub__(self, other: Scores) -> Scores:
        return self._with(other, -1, self.n)

    def _with(self, other: Scores, sign: int, n: int) -> Scores:
        cells = dict(self.cells)
        for name, values in other.cells.items():
            cells[name] = cells[name] + sign * values if name in cells else sign * values
        freedom = min(filter(None, (self.freedom, other.freedom)), default=0)
        seeds = self.seeds + sign * other.seeds
        return Scores(self.value + sign * other.value, n, cells, seeds, freedom)

    def sampling(self) -> tuple[float, float]:
        """Return the standard error by subjects and sentences, and its degrees of freedom."""
        parts = [two_way(values) for values in self.cells.values()]
        variance = sum(part[0] for part in parts)
        if not variance > 0:
            return math.sqrt(variance), math.inf
        spread = sum(v**2 / df for _, *ways in parts for v, df in ways if v)
        return math.sqrt(variance), variance**2 / spread if spread else math.inf

    def ends(
        self, critical_value: float | Mapping[str, float] | None = None
    ) -> dict[str, float | str]:
        """Return low, high, se and by; with `critical_value`, low_all and high_all too.

        `critical_value` is that of simultaneous intervals, in standard errors.
        """
        se, df = self.sampling()
        by_seeds = float(np.linalg.norm(self.seeds))
        reach = half_width(se, df, by_seeds, self.freedom)
        whole = math.hypot(se, by_seeds)
        row = {"low": self.value - reach, "high": self.value + reach, "se": whole, "by": BY}
        if not math.isfinite(reach):
            row |= {"low": math.nan, "high": math.nan, "se": math.nan, "by": ""}
        reach_all = (critical_value or math.nan) * whole
        return row | {"low_all": self.value - reach_all, "high_all": self.value + reach_all}


def two_way(values: np.ndarray) -> tuple[float, tuple[float, int], tuple[float, int]]:
    """Return the two-way clustered variance of the sum of values (subjects, sentences).

    The values sum to about 0. Also return the one-way variance and its degrees of freedom, for
    subjects and for sentences.
    """
    R, S = values.shape
    rows, columns = values.sum(1), values.sum(0)
    by_row = float(rows @ rows) * R / max(R - 1, 1)
    by_column = float(columns @ columns) * S / max(S - 1, 1)
    by_cell = float((values**2).sum())
    if R < 2 or S < 2:
        return math.nan, (by_row, 1), (by_column, 1)
    variance = max(by_row + by_column - by_cell, by_row, by_column)
    return variance, (by_row, R - 1), (by_column, S - 1)


def half_width(se: float, df: float, by_seeds: float = 0.0, freedom: int = 0) -> float:
    """Return half the width of the 95 % interval of se·T(df) + by_seeds·T(freedom), T Student's."""
    from scipy import special

    of_samples = float(special.stdtrit(min(df, 1e9), 0.975)) * se
    if not freedom or not by_seeds:
        return of_samples
    of_seeds = float(special.stdtrit(freedom, 0.975)) * by_seeds
    if (
        not math.isfinite(of_samples + of_seeds)
        or min(of_samples, of_seeds) <= max(of_samples, of_seeds) / 50
    ):
        return (
            of_samples + of_seeds
            if not math.isfinite(of_samples + of_seeds)
            else max(of_samples, of_seeds)
        )
    # Averages over equally probable values of the narrower part; the other part is exact.
    from scipy.optimize import brentq

    (_, narrow, df_narrow), (_, wide, df_wide) = sorted(
        [(of_samples, se, min(df, 1e9)), (of_seeds, by_seeds, freedom)]
    )
    values = narrow * special.stdtrit(df_narrow, (np.arange(POINTS) + 0.5) / POINTS)

    def excess(half: float) -> float:
        return float(special.stdtr(df_wide, (half - values) / wide).mean()) - 0.975

    low, high = max(of_samples, of_seeds), of_samples + of_seeds
    return float(brentq(excess, 0.99 * low, 1.01 * high, rtol=1e-6))


def simultaneous_critical_value(
    totals: Sequence[Scores], pairs: Sequence[tuple[int, int]]
) -> float:
    """Return the critical value of simultaneous 95 % intervals for all pairs, in standard errors.

    It is the quantile of the largest |t| of the pairs (Romano & Wolf 2005) in a multiplier
    bootstrap of subjects, sentences and seeds. NaN where no pair differs.
    """
    random = np.random.default_rng(zlib.crc32(b"crossed"))
    names = dict.fromkeys(name for total in totals for name in total.cells)
    drawn = np.zeros((DRAWN, len(totals)))
    for name in names:
        tables = [total.cells[name] for total in totals]
        R, S = tables[0].shape
        rows, columns = (np.array([t.sum(axis) for t in tables]).T for axis in (1, 0))
        # With few subjects or sentences the spread is uncertain: t, not the normal distribution.
        wide = np.sqrt((min(R, S) - 1) / random.chisquare(min(R, S) - 1, (DRAWN, 1)))
        drawn += wide * (random.standard_normal((DRAWN, R)) @ rows)
        drawn += wide * (random.standard_normal((DRAWN, S)) @ columns)
    seeds = np.array([np.broadcast_to(t.seeds, np.shape(totals[0].seeds)) for t in totals])
    freedom = max(total.freedom for total in totals)
    if freedom and seeds.ndim == 2:
        wide = np.sqrt(freedom / random.chisquare(freedom, (DRAWN, 1)))
        drawn += wide * (random.standard_normal((DRAWN, seeds.shape[1])) @ seeds.T)
    spreads = []
    for a, b in pairs:
        difference = totals[a] - totals[b]
        rows = [t.sum(1) for t in difference.cells.values()]
        columns = [t.sum(0) for t in difference.cells.values()]
        both = sum(float(v @ v) for v in (*rows, *columns))
        spreads.append(math.sqrt(both + float(np.linalg.norm(difference.seeds)) ** 2))
    return largest_t(drawn, pairs, spreads=spreads)


@dataclass
class Tables:
    """Scored cells of several LMs and responses, collected into `Scores`.

    The cells of a sample share one layout, so that its totals can be added and subtracted.
    """

    frames: dict[tuple, dict[str, pd.DataFrame]] = field(default_factory=dict)
    samples: dict[tuple, str] = field(default_factory=dict)

    def add(self, key: tuple, sample: str, frame: pd.DataFrame, seed: str = "") -> None:
        """Add the cells of one training: columns subject, sentence, n and delta_loglik."""
        self.samples[key] = sample
        self.frames.setdefault(key, {})[seed] = frame

    def scores(self) -> dict[tuple, Scores]:
        """Return the scores of each key, averaged over its seeds."""
        every = sorted({seed for seeds in self.frames.values() for seed in seeds})
        axes: dict[str, list[pd.Index]] = {}
        for key, seeds in self.frames.items():
            for frame in seeds.values():
                names = [
                    pd.Index(frame[name].astype(str).unique()) for name in ("subject", "sentence")
                ]
                before = axes.setdefault(self.samples[key], names)
                axes[self.samples[key]] = [k.union(f) for k, f in zip(before, names, strict=True)]
        result = {}
        for key, seeds in self.frames.items():
            rows, columns = axes[self.samples[key]]
            cells = np.zeros((len(rows), len(columns)))
            totals = {}
            for seed, frame in seeds.items():
                where = (
                    rows.get_indexer(frame["subject"].astype(str)),
                    columns.get_indexer(frame["sentence"].astype(str)),
                )
                score, n = frame["delta_loglik"].to_numpy(), frame["n"].to_numpy()
                totals[seed] = math.fsum(score)
                cells[where] += (score - totals[seed] / n.sum() * n) / len(seeds)
            values = np.array(list(totals.values()))
            S, apart = len(values), np.zeros(len(every))
            if S > 1:
                places = [every.index(seed) for seed in totals]
                apart[places] = (values - values.mean()) / math.sqrt(S * (S - 1))
            observations = int(next(iter(seeds.values()))["n"].sum())
            result[key] = Scores(
                math.fsum(values) / S, observations, {self.samples[key]: cells}, apart, S - 1
            )
        return result
