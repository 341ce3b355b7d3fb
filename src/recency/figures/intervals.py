"""The intervals of an experiment's ΔLogLik, for figures, tables and the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from crosslmm.stats.crossed_samples import BY, BY_TEXTS
from recency.endpoints import BY_ITEMS, of_units
from recency.figures import comparison, style
from recency.figures.comparison import LM, Comparison
from recency.figures.paths import File

TOTAL = "Total"
CROSSED = {
    BY: "subject and sentence",
    BY_TEXTS: "subject and text",
    BY_ITEMS: "subject and item",
}
"""Value of `by` of the crossed bootstrap → the clusters that were resampled."""
COLUMNS = [
    *("lm", "against", "kind", "dataset", "measure", "n", "delta_loglik"),
    *("low", "high", "by", "se", "low_all", "high_all", "share", "share_low", "share_high"),
]


@dataclass(frozen=True)
class Interval:
    """ΔLogLik of an LM, or its difference from `against`, in nats, with its 95 % interval.

    Attributes
    ----------
    lm, against : str
        The LM, and the LM that it is compared with; "" for the LM's own ΔLogLik.
    value, low, high, se : float
        Nats: estimate, ends of its interval, standard error.
    by : str
        The clusters that were resampled: a key of `CROSSED`, "subject", "sentence" or "seed".
    low_all, high_all : float
        Ends of the simultaneous interval for all pairs of LMs; NaN except for totals.
    n : float
        Number of scored observations.
    share, share_low, share_high : float
        The difference of totals as a share of the baseline LM's ΔLogLik, with the interval that `bounds`
        has in nats; NaN without a baseline whose ΔLogLik is reliably above 0.
    """

    lm: str
    against: str
    value: float
    low: float
    high: float
    by: str
    se: float
    low_all: float = math.nan
    high_all: float = math.nan
    n: float = math.nan
    share: float = math.nan
    share_low: float = math.nan
    share_high: float = math.nan

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the simultaneous interval if there is one, otherwise of the single interval."""
        if math.isnan(self.low_all):
            return self.low, self.high
        return self.low_all, self.high_all

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval (see `bounds`) excludes zero."""
        low, high = self.bounds
        return low > 0 or high < 0

    def reversed(self) -> Interval:
        """Return the difference in the opposite direction."""
        ends = (-self.high, -self.low, self.by, self.se, -self.high_all, -self.low_all)
        shares = (-self.share, -self.share_high, -self.share_low)
        return Interval(self.against, self.lm, -self.value, *ends, self.n, *shares)


@dataclass(frozen=True)
class Intervals:
    """All intervals: `own` and `paired` by (lm, response label or "Total"), `pairs` of totals."""

    own: dict[tuple[str, str], Interval]
    paired: dict[tuple[str, str], Interval]
    pairs: dict[tuple[str, str], Interval]
    seeds: int = 1

    def pair(self, lm: str, other: str) -> Interval | None:
        """Return the difference of two LMs' totals."""
        if (lm, other) in self.pairs:
            return self.pairs[lm, other]
        interval = self.pairs.get((other, lm))
        return interval and interval.reversed()


def read(path: File, result: Comparison) -> Intervals:
    """Read delta_loglik_intervals.csv: the rows of the LMs and responses of `result`."""
    rows = comparison.table(path, COLUMNS)
    for column in ("against", "by"):
        rows[column] = rows[column].astype(object).fillna("")
    labels = comparison.response_labels(result.responses) | {("all", "all"): TOTAL}
    models = {lm.lm for lm in result.lms}
    intervals = Intervals({}, {}, {}, result.seeds)
    for row in rows.itertuples(index=False):
        label = labels.get((row.dataset, row.measure))
        if label is None or row.lm not in models or row.against not in models | {""}:
            continue
        ends = (row.low, row.high, str(row.by), row.se, row.low_all, row.high_all)
        shares = (row.share, row.share_low, row.share_high)
        interval = Interval(row.lm, row.against, row.delta_loglik, *ends, row.n, *shares)
        if row.kind == "own":
            intervals.own[row.lm, label] = interval
        else:
            if row.kind == "baseline":
                intervals.paired[row.lm, label] = interval
            if label == TOTAL:
                intervals.pairs[row.lm, row.against] = interval
    return intervals


def nats(value: float) -> str:
    """Format nats: integers from ten on, otherwise one decimal, near zero two."""
    return style.number(value, 0 if abs(value) >= 9.95 else 1 if abs(value) >= 0.05 else 2)


def ends(interval: Interval | None, unknown: str = "\N{EN DASH}") -> str:
    """Format an interval (see `bounds`): "21 to 89", or `unknown` if missing."""
    if interval is None or math.isnan(interval.low):
        return unknown
    low, high = interval.bounds
    return f"{nats(low)} to {nats(high)}"


def clusters(by: str) -> str:
    """Return the resampled clusters in words: "subject", "subject and sentence"."""
    return CROSSED.get(by, by)


def against(intervals: Intervals, result: Comparison, lm: str, label: str) -> tuple[float, float]:
    """Return the position of an LM's interval on an axis of ΔLogLik, in nats, or NaN.

    This is the interval of the difference from the LM's baseline, shifted to the baseline's value:
    an LM whose interval crosses the baseline's line does not differ reliably from it. The baseline
    has none, since the others are compared with it; without a baseline each LM has its own
    interval.
    """
    value = result.totals[lm] if label == TOTAL else result.delta.loc[lm, label]
    interval = intervals.paired.get((lm, label))
    if interval is None and not any(where == label for _, where in intervals.paired):
        interval = intervals.own.get((lm, label))
    if interval is None:
        return math.nan, math.nan
    low, high = interval.bounds
    return value - interval.value + low, value - interval.value + high


def columns(intervals: Intervals, lm: str, label: str) -> dict[str, float | str]:
    """Return the columns of an LM's intervals for the data of a figure."""
    absolute, pair = intervals.own.get((lm, label)), intervals.paired.get((lm, label))
    row: dict[str, float | str] = {}
    for interval, suffix in ((absolute, ""), (pair, "_over_baseline")):
        if suffix:
            row["over_baseline"] = interval.value if interval else math.nan
        ends = interval.bounds if interval else (math.nan, math.nan)
        row |= dict(zip(("low" + suffix, "high" + suffix), ends, strict=True))
        row["by" + suffix] = interval.by if interval else ""
    return row


def of_totals(
    intervals: Intervals, result: Comparison, lms: Iterable[LM], **more: Mapping[str, float]
) -> pd.DataFrame:
    """Return data of a figure of totals: LM, bias, `more` by LM, and intervals, one row per LM."""
    first = ["lm", "label", "bias", "applied", *more, "delta_loglik"]
    rows = [
        [lm.lm, lm.label, lm.kind, lm.applied, *(values.get(lm.lm) for values in more.values())]
        + [result.totals[lm.lm], *columns(intervals, lm.lm, TOTAL).values()]
        for lm in lms
    ]
    return pd.DataFrame(rows, columns=[*first, *columns(intervals, "", "")])


def simultaneous(intervals: Intervals) -> str:
    """Return a note on the intervals of totals' differences, "" where no more than one pair has one."""
    pairs = len(intervals.pairs)
    return f"simultaneous for all {pairs} pairs of LMs, " if pairs > 1 else ""


def made_by(intervals: Intervals) -> str:
    """Return a description of the method of the intervals."""
    every = {interval.by for interval in (*intervals.own.values(), *intervals.pairs.values())}
    return describe_method(every, intervals.seeds)


def describe_method(by: set[str], seeds: int = 1) -> str:
    """Return a description of intervals, from the clusters that were resampled for them."""
    more = ", including new training seeds" if seeds > 1 else ""
    if crossed := by & CROSSED.keys():
        text = f"subjects and sentences resampled jointly, every draw refitted{more}"
        return of_units(text, crossed == {BY_ITEMS})
    return f"subjects or sentences resampled, conditional on the fits, the wider interval{more}"


def by_seed(path: File | None, result: Comparison) -> pd.DataFrame:
    """Read delta_loglik_by_seed.csv: ΔLogLik of each seed, and "Total" over shared responses.

    Indexed by lm and the LM's name with its seed (variant), with responses as columns; empty if no
    LM has several seeds.
    """
    labels = comparison.response_labels(result.responses)
    if path is None or result.seeds == 1:
        return pd.DataFrame(columns=[*labels.values(), TOTAL])
    rows = comparison.table(path, ["lm", "variant", "seed", "dataset", "measure", "delta_loglik"])
    rows = comparison.with_responses(rows, result.responses, result.lms)
    table = rows.pivot(index=["lm", "variant", "seed"], columns="response", values="delta_loglik")
    table[TOTAL] = table[result.summed].sum(axis=1, skipna=False)
    return table.reset_index("seed")


def over_baseline(seeds: pd.DataFrame, lm: str, baseline: str, label: str) -> list[float]:
    """Return an LM's difference from the baseline for each seed that both have."""
    if not {lm, baseline} <= set(seeds.index.get_level_values("lm") if len(seeds) else ()):
        return []
    values, other = (seeds.loc[name].set_index("seed")[label] for name in (lm, baseline))
    return (values - other).dropna().tolist()


def explained(intervals: Intervals, baseline: str | None, of_totals: bool = True) -> str:
    """Return a note on the lines through the points, which are totals or responses."""
    how = made_by(intervals)
    if intervals.paired and baseline:
        many = simultaneous(intervals) if of_totals else "each by itself, "
        return f"lines: 95 % intervals of the difference from {baseline}, {many}{how}"
    return f"lines: 95 % intervals, {how}"
