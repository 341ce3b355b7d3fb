"""Results on an experiment's LMs: ΔLogLik, intervals, held-out tests, and claims based on them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from crosslmm.stats import claims, detection, groups
from recency.evaluations.reading_times import table_significance
from recency.figures.comparison import Comparison
from recency.figures.intervals import CROSSED, TOTAL, Interval, Intervals
from recency.figures.paths import File

ALPHA = 0.05
#: Standard normal quantile of a two-sided test at .05.
QUANTILE = 1.959963984540054


@dataclass(frozen=True)
class Test:
    """A held-out test of two LMs over all responses; better: whether the first LM has less error."""

    p: float
    p_holm: float
    better: bool


@dataclass(frozen=True)
class Evidence:
    """The results of an experiment for its verdict.

    Attributes
    ----------
    result : Comparison
        ΔLogLik of each LM and response.
    intervals : Intervals
        Intervals of ΔLogLik and of its differences.
    tests : mapping
        (LM, LM) → held-out test over all responses.
    baselines : mapping
        LM → the LM that it is compared with.
    baseline : str, optional
        The experiment's baseline LM, even if it was not run.
    stated : mapping, optional
        The smallest effect of interest as the config states it: unit → value.
    """

    result: Comparison
    intervals: Intervals
    tests: Mapping[tuple[str, str], Test] = field(default_factory=dict)
    baselines: Mapping[str, str] = field(default_factory=dict)
    baseline: str | None = None
    stated: Mapping[str, float | None] | None = None

    @cached_property
    def smallest_effect(self) -> float:
        """The smallest effect of interest in nats, NaN if unknown."""
        observations = (
            interval.n for (_, label), interval in self.intervals.own.items() if label == TOTAL
        )
        baseline = self.result.totals.get(self.baseline, math.nan)
        pairs = self.intervals.pairs.values()
        if self.relative and pairs and all(math.isnan(pair.share_low) for pair in pairs):
            return math.nan
        return claims.in_nats(self.stated, next(observations, math.nan), baseline)

    @property
    def relative(self) -> float:
        """The smallest effect of interest as a share of the baseline LM's ΔLogLik, 0 if not so stated."""
        return (self.stated or {}).get("relative") or 0.0

    @property
    def threshold(self) -> float:
        """The smallest effect of interest for judging claims, in nats: 0 if unknown."""
        return 0.0 if math.isnan(self.smallest_effect) else self.smallest_effect

    @cached_property
    def order(self) -> list[str]:
        """The LMs by total ΔLogLik, the best first."""
        return list(self.result.totals.sort_values(ascending=False, kind="stable").index)

    @cached_property
    def labels(self) -> dict[str, str]:
        """LM → its label."""
        return {lm.lm: lm.label for lm in self.result.lms}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of LMs, the better one first."""
        return list(combinations(self.order, 2))

    def reference(self, lm: str) -> str | None:
        """Return the LM that an LM is compared with."""
        return self.baselines.get(lm, self.baseline)

    def test(self, lm: str, other: str) -> Test | None:
        """Return the held-out test of two LMs, in either order."""
        if (lm, other) in self.tests:
            return self.tests[lm, other]
        reverse = self.tests.get((other, lm))
        return reverse and Test(reverse.p, reverse.p_holm, not reverse.better)

    def claim(self, lm: str, other: str) -> str:
        """Judge the claim that an LM predicts better than another (crosslmm.stats.claims).

        A smallest effect that is a share of an LM's ΔLogLik is compared with the interval of the
        difference as such a share, because that ΔLogLik is estimated as well.
        """
        difference = self.intervals.pair(lm, other)
        if difference is None:
            return claims.OPEN
        low, high = difference.bounds
        if not (self.relative and self.threshold):
            return claims.judge(low, high, self.threshold)
        # Whether there is a lead is never said otherwise than by the interval in nats.
        most = -math.inf if high < 0 else difference.share_high
        return claims.judge(low, math.inf if math.isnan(most) else most, self.relative)

    def bounds(self, lm: str, other: str) -> tuple[float, float]:
        """Return the ends of the deciding interval of two LMs' difference, NaN without one."""
        difference = self.intervals.pair(lm, other)
        return difference.bounds if difference else (math.nan, math.nan)

    def separated(self, lm: str, other: str) -> bool:
        """Return whether either of two LMs predicts better than the other."""
        low, high = self.bounds(lm, other)
        return low > 0 or high < 0

    @cached_property
    def groups(self) -> list[list[str]]:
        """Groups of LMs of which no two are separated, the best first."""
        members = groups.groups(len(self.order), self._same)
        return [[self.order[index] for index in group] for group in members]

    @cached_property
    def letters(self) -> dict[str, str]:
        """LM → the letters of its groups: LMs that share one are not separated."""
        return dict(zip(self.order, groups.letters(len(self.order), self._same), strict=True))

    def _same(self, a: int, b: int) -> bool:
        return not self.separated(self.order[a], self.order[b])


def tests(permutation: File | None) -> dict[tuple[str, str], Test]:
    """Return the tests over all responses from permutation.csv, empty without the file."""
    if permutation is None:
        return {}
    rows = table_significance.read(permutation)
    rows = rows[rows.pooled & rows.p.notna()]
    return {
        (row.lm_a, row.lm_b): Test(row.p, row.p_holm, row.mse_a < row.mse_b)
        for row in rows.itertuples(index=False)
    }


def detectable(difference: Interval, seeds: int) -> float:
    """Return the difference that 80 % of such studies would detect.

    Parameters
    ----------
    difference : Interval
        Difference of two LMs, with its interval and standard error.
    seeds : int
        Number of training seeds. With several seeds, and by the crossed bootstrap, the interval is
        Student's (crosslmm.stats.detection); others count as known standard errors.

    Returns
    -------
    float
        Nats; for a two-sided test at .05 of this pair only.
    """
    is_student = seeds > 1 or difference.by in CROSSED
    half = (difference.high - difference.low) / 2 if is_student else QUANTILE * difference.se
    return detection.detectable(difference.se, half)
