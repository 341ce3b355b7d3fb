"""Intervals of sums over two crossed samples, such as subjects and sentences, and training seeds.

A total is the sum of the scores of cells: pairs of a subject and a sentence, both of which are
samples. Its variance is the two-way clustered one (Cameron, Gelbach & Miller 2011): the variance
between subjects, plus that between sentences, minus that between cells, and at least the larger of
the first two. Sentences of a text may be similar; the variance is therefore computed with texts in place
of sentences as well, and the larger one counts. Scores are centred by their mean per observation, so that
subjects who read more do not vary for that reason. The interval is Student's, with Satterthwaite's
degrees of freedom. Responses that share sentences are one sample, in which these are the same.

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

from crosslmm.stats.bootstrap import largest_t

POINTS = 2_000
"""Points of a numerical integral."""
BY, BY_TEXTS = "crossed", "crossed_texts"
"""Values of `by` for these intervals, the second where texts decide; others are by subject or by sentence."""
DRAWN = 20_000
"""Simulated values, where a quantile has no closed form."""
WITHOUT = "without_group"
"""Attribute of a table of cells: its total without each of some groups of draws."""


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
    texts
        By sample: the text of each sentence, as a number from 0 (sentences,).
    draws
        By dataset, whose models share their draws: deviations (groups of draws,) whose norm is the
        standard error that is due to the number of draws.
    """

    value: float
    n: int
    cells: Mapping[str, np.ndarray]
    seeds: np.ndarray | float = 0.0
    freedom: int = 0
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)
    draws: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __add__(self, other: Scores) -> Scores:
        return self._with(other, 1, self.n + other.n)

    def __sub__(self, other: Scores) -> Scores:
        return self._with(other, -1, self.n)

    def __mul__(self, factor: float) -> Scores:
        cells, draws = (
            {name: factor * values for name, values in parts.items()}
            for parts in (self.cells, self.draws)
        )
        seeds = factor * self.seeds
        return Scores(factor * self.value, self.n, cells, seeds, self.freedom, self.texts, draws)

    def _with(self, other: Scores, sign: int, n: int) -> Scores:
        cells, draws = dict(self.cells), dict(self.draws)
        for mine, theirs in ((cells, other.cells), (draws, other.draws)):
            for name, values in theirs.items():
                mine[name] = mine[name] + sign * values if name in mine else sign * values
        freedom = min(filter(None, (self.freedom, other.freedom)), default=0)
        seeds = self.seeds + sign * other.seeds
        texts = {**self.texts, **other.texts}
        return Scores(self.value + sign * other.value, n, cells, seeds, freedom, texts, draws)

    def sampling(self) -> tuple[float, float]:
        """Return the standard error by subjects, sentences and draws, and its degrees of freedom."""
        parts = [clustered(values, self.texts.get(sample)) for sample, values in self.cells.items()]
        drawn = [(float(d @ d), len(d) - 1) for d in self.draws.values()]
        variance = sum(part[0] for part in parts) + sum(v for v, _ in drawn)
        if not variance > 0:
            return math.sqrt(variance), math.inf
        ways = [way for _, *both in parts for way in both] + drawn
        spread = sum(v**2 / df for v, df in ways if v)
        return math.sqrt(variance), variance**2 / spread if spread else math.inf

    @property
    def by_texts(self) -> bool:
        """Whether the variance by texts is larger than that by sentences, in some sample."""
        return any(
            clustered(values, self.texts.get(sample))[0] > two_way(values)[0]
            for sample, values in self.cells.items()
        )

    def p(self) -> float:
        """Return the two-sided p value of a total of 0, by the distribution of the interval; NaN without one."""
        se, df = self.sampling()
        return tail(abs(self.value), se, df, float(np.linalg.norm(self.seeds)), self.freedom)

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
        row = {"low": self.value - reach, "high": self.value + reach, "se": whole}
        row["by"] = BY_TEXTS if self.by_texts else BY
        if not math.isfinite(reach):
            row |= {"low": math.nan, "high": math.nan, "se": math.nan, "by": ""}
        reach_all = (critical_value or math.nan) * whole
        return row | {"low_all": self.value - reach_all, "high_all": self.value + reach_all}


Variance = tuple[float, tuple[float, int], tuple[float, int]]
"""Variance of a sum, and the one-way variances with their degrees of freedom."""


def clustered(values: np.ndarray, texts: np.ndarray | None = None) -> Variance:
    """Return the larger of the variances by subjects and sentences, and by subjects and texts.

    `values` are (subjects, sentences), `texts` the text of each sentence. With one text, whose
    differences from others can't be seen, it is that by sentences.
    """
    by_sentence = two_way(values)
    if texts is None or len(np.unique(texts)) in (1, values.shape[1]):
        return by_sentence
    return max(by_sentence, two_way(of_texts(values, texts)), key=lambda found: found[0])


def of_texts(values: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Return the sums of columns (sentences) by text."""
    sums = np.zeros((values.shape[0], texts.max() + 1))
    np.add.at(sums.T, texts, values.T)
    return sums


def two_way(values: np.ndarray) -> Variance:
    """Return the two-way clustered variance of the sum of values (subjects, sentences).

    The values sum to about 0; subjects and sentences without any, of other datasets in the sample, don't
    count. Also return the one-way variance and its degrees of freedom, for
    subjects and for sentences.
    """
    rows, columns = values.sum(1), values.sum(0)
    R, S = _count_values(values, 1), _count_values(values, 0)
    by_row = float(rows @ rows) * R / max(R - 1, 1)
    by_column = float(columns @ columns) * S / max(S - 1, 1)
    by_cell = float((values**2).sum())
    if R < 2 or S < 2:
        return math.nan, (by_row, 1), (by_column, 1)
    variance = max(by_row + by_column - by_cell, by_row, by_column)
    return variance, (by_row, R - 1), (by_column, S - 1)


def tail(distance: float, se: float, df: float, by_seeds: float = 0.0, freedom: int = 0) -> float:
    """Return the probability that |se·T(df) + by_seeds·T(freedom)| is `distance` or more, T Student's."""
    from scipy import special

    if not math.isfinite(se + by_seeds):
        return math.nan
    parts = [(se, min(df, 1e9))] + ([(by_seeds, float(freedom))] if freedom else [])
    parts = sorted(part for part in parts if part[0] > 0)
    if not parts:
        return float(distance == 0)
    values = np.zeros(1)
    if len(parts) == 2:  # averages over equally probable values of the narrower part
        share = (np.arange(POINTS) + 0.5) / POINTS
        values = parts[0][0] * special.stdtrit(parts[0][1], share)
    wide, df_wide = parts[-1]
    return float(2 * special.stdtr(df_wide, (values - distance) / wide).mean())


def _count_values(values: np.ndarray, axis: int) -> int:
    """Return how many rows (axis 1) or columns (axis 0) have values, all of them where none has."""
    return int(np.count_nonzero(values.any(axis))) or values.shape[1 - axis]


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
    units: dict[str, np.ndarray | None] = {}
    for name in names:
        tables = [total.cells[name] for total in totals]
        units[name] = _deciding(
            [tables[a] - tables[b] for a, b in pairs], totals[0].texts.get(name)
        )
        tables = [_by_unit(table, units[name]) for table in tables]
        rows, columns = (np.array([t.sum(axis) for t in tables]).T for axis in (1, 0))
        # With few subjects or sentences the spread is uncertain: t, not the normal distribution.
        few = min(_count_values(tables[0], axis) for axis in (1, 0)) - 1
        wide = np.sqrt(few / random.chisquare(few, (DRAWN, 1)))
        for sums in (rows, columns):
            drawn += wide * (random.standard_normal((DRAWN, len(sums))) @ sums)
    seeds = np.array([np.broadcast_to(t.seeds, np.shape(totals[0].seeds)) for t in totals])
    freedom = max(total.freedom for total in totals)
    if freedom and seeds.ndim == 2:
        wide = np.sqrt(freedom / random.chisquare(freedom, (DRAWN, 1)))
        drawn += wide * (random.standard_normal((DRAWN, seeds.shape[1])) @ seeds.T)
    spreads = []
    for a, b in pairs:
        difference = totals[a] - totals[b]
        tables = [_by_unit(t, units[name]) for name, t in difference.cells.items()]
        rows, columns = ([t.sum(axis) for t in tables] for axis in (1, 0))
        both = sum(float(v @ v) for v in (*rows, *columns))
        spreads.append(math.sqrt(both + float(np.linalg.norm(difference.seeds)) ** 2))
    return largest_t(drawn, pairs, spreads=spreads)


def _deciding(differences: Sequence[np.ndarray], texts: np.ndarray | None) -> np.ndarray | None:
    """Return the texts of a sample's sentences, if texts are what most of the pairs' variance is by."""
    if texts is None:
        return None
    by_sentence = sum(two_way(values)[0] for values in differences)
    return (
        None if sum(clustered(values, texts)[0] for values in differences) <= by_sentence else texts
    )


def _by_unit(values: np.ndarray, texts: np.ndarray | None) -> np.ndarray:
    return values if texts is None else of_texts(values, texts)


def deviations(frames: Sequence[pd.DataFrame]) -> np.ndarray:
    """Return the jackknife's deviations (groups of draws,) of the mean total of a dataset's tables.

    Their norm is the standard error due to the number of draws (Efron & Tibshirani 1997), of tables
    that share their draws; empty if these are unknown.
    """
    without = [frame.attrs.get(WITHOUT, ()) for frame in frames]
    if any(len(totals) != len(without[0]) for totals in without) or len(without[0]) < 2:
        return np.zeros(0)
    mean = np.mean(without, axis=0)
    return (mean - mean.mean()) * math.sqrt(1 - 1 / len(mean))


@dataclass
class Tables:
    """Scored cells of several LMs and responses, collected into `Scores`.

    The cells of a sample share one layout, so that its totals can be added and subtracted.
    """

    frames: dict[tuple, dict[str, pd.DataFrame]] = field(default_factory=dict)
    samples: dict[tuple, str] = field(default_factory=dict)

    def add(self, key: tuple, sample: str, frame: pd.DataFrame, seed: str = "") -> None:
        """Add the cells of one training: columns subject, sentence, n, delta_loglik, perhaps text."""
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
        texts = self._texts({sample: names[1] for sample, names in axes.items()})
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
                # Cells of two units that are one text are added.
                np.add.at(cells, where, (score - totals[seed] / n.sum() * n) / len(seeds))
            values = np.array(list(totals.values()))
            S, apart = len(values), np.zeros(len(every))
            if S > 1:
                places = [every.index(seed) for seed in totals]
                apart[places] = (values - values.mean()) / math.sqrt(S * (S - 1))
            observations = int(next(iter(seeds.values()))["n"].sum())
            sample = self.samples[key]
            of_sample = {sample: texts[sample]} if sample in texts else {}
            drawn = deviations(list(seeds.values()))
            draws = {key[1][0]: drawn} if len(drawn) else {}
            result[key] = Scores(
                math.fsum(values) / S, observations, {sample: cells}, apart, S - 1, of_sample, draws
            )
        return result

    def _texts(self, sentences: Mapping[str, pd.Index]) -> dict[str, np.ndarray]:
        """Return the text of each sentence of each sample whose frames have texts."""
        named: dict[str, dict[str, str]] = {}
        for key, seeds in self.frames.items():
            for frame in seeds.values():
                if "text" in frame:
                    pairs = frame[["sentence", "text"]].astype(str).drop_duplicates()
                    named.setdefault(self.samples[key], {}).update(
                        pairs.itertuples(index=False, name=None)
                    )
        return {
            sample: pd.factorize(sentences[sample].map(names))[0] for sample, names in named.items()
        }
