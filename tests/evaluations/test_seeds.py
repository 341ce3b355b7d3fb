"""Intervals of `table_seeds`: the rule of all intervals over seeds."""

import math

import numpy as np
import pytest
from scipy import stats

from crosslmm.stats import bootstrap
from crosslmm.stats.totals import NewSeeds
from recency.evaluations.reading_times import seeds

pytestmark = pytest.mark.merge


@pytest.mark.parametrize("S,between", [(1, 0.0), (2, 0.1), (2, 1.0), (3, 0.2), (5, 0.0), (4, 9.0)])
def test_intervals_of_seeds_follow_the_rule_of_all_intervals_over_seeds(S, between):
    """`crosslmm.stats.totals` by simulation gives the same interval; 1.96 SE gives a narrower one."""
    random = np.random.default_rng(S)
    values = random.normal(1, 1, (1, 150)) + random.normal(0, between, (S, 1))
    values = values + random.normal(0, 0.3, (S, 150))
    names = [str(seed) for seed in range(S)]
    resampled = bootstrap.draws(values.T, 40_000, 1).mean(1)
    totals = dict(zip(names, values.sum(1), strict=True))
    ends = NewSeeds([names], 40_000, 0).mean(totals, {"sentence": resampled}).ends()
    row = {key: float(value or "nan") for key, value in seeds.row(values).items()}
    assert row["high"] - row["low"] == pytest.approx(ends["high"] - ends["low"], rel=0.04)
    assert row["high"] - row["delta_loglik"] > 1.95 * row["se"]
    assert S == 1 or row["high"] - row["delta_loglik"] > 1.97 * row["se"]


def test_intervals_of_seeds_that_alone_vary_are_students():
    totals = np.array([9.0, 14.0, 10.0])
    values = np.repeat(totals[:, None] / 50, 50, axis=1)
    low, high = stats.t.interval(0.95, 2, 11, stats.sem(totals))
    row = seeds.row(values)
    assert (float(row["low"]), float(row["high"])) == pytest.approx((low, high))
    assert math.isnan(seeds.half_width(values[:, :1]))
    values[0, 0] = np.nan
    assert np.isnan(seeds.row(values)["low"])
