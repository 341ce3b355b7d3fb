"""The intervals of an experiment's ΔLogLik, as figures, tables and the verdict read them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from recency.figures import comparison, style
from recency.figures.comparison import Comparison

TOTAL = "Total"
COLUMNS = [
    *("lm", "against", "kind", "dataset", "measure", "delta_loglik"),
    *("low", "high", "by", "se", "low_all", "high_all"),
]


@dataclass(frozen=True)
class Interval:
    """ΔLogLik of an LM, or its difference from `against`, in nats, with its 95 % interval.

    `by` names what was drawn anew, subjects or sentences: whichever gives the wider interval. Those
    of all pairs hold together from `low_all` to `high_all`, which totals alone have.
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

    @property
    def sure(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0

    def turned(self) -> Interval:
        """Return the difference the other way round."""
        ends = (-self.high, -self.low, self.by, self.se, -self.high_all, -self.low_all)
        return Interval(self.against, self.lm, -self.value, *ends)


@dataclass(frozen=True)
class Intervals:
    """All intervals: `own` and `paired` by (lm, response label or "Total"), `pairs` of totals."""

    own: dict[tuple[str, str], Interval]
    paired: dict[tuple[str, str], Interval]
    pairs: dict[tuple[str, str], Interval]

    def pair(self, lm: str, other: str) -> Interval | None:
        """Return the difference of two LMs' totals."""
        if (lm, other) in self.pairs:
            return self.pairs[lm, other]
        found = self.pairs.get((other, lm))
        return found and found.turned()


def read(path: str | Path, result: Comparison) -> Intervals:
    """Read delta_loglik_intervals.csv: the rows of the LMs and responses of `result`."""
    rows = comparison.table(path, COLUMNS)
    rows["against"], rows["by"] = rows.against.fillna(""), rows.by.fillna("")
    labels = {(r.dataset, r.measure): r.label for r in result.responses} | {("all", "all"): TOTAL}
    models = {lm.lm for lm in result.lms}
    found = Intervals({}, {}, {})
    for row in rows.itertuples(index=False):
        label = labels.get((row.dataset, row.measure))
        if label is None or row.lm not in models or row.against not in models | {""}:
            continue
        ends = (row.low, row.high, str(row.by), row.se, row.low_all, row.high_all)
        interval = Interval(row.lm, row.against, row.delta_loglik, *ends)
        if row.kind == "own":
            found.own[row.lm, label] = interval
        else:
            if row.kind == "baseline":
                found.paired[row.lm, label] = interval
            if label == TOTAL:
                found.pairs[row.lm, row.against] = interval
    return found


def nats(value: float) -> str:
    """Write nats: whole ones from ten on, else to one decimal."""
    return style.number(value, 0 if abs(value) >= 9.95 else 1)


def ends(interval: Interval | None, unknown: str = "\N{EN DASH}") -> str:
    """Write an interval: "21 to 89", or `unknown` where there is none."""
    if interval is None or math.isnan(interval.low):
        return unknown
    return f"{nats(interval.low)} to {nats(interval.high)}"
