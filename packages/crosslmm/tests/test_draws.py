"""Intervals over clusters and seeds: against formulas written out, and what they cover."""

import math

import numpy as np
import pytest
from scipy import stats

from crosslmm.stats import bootstrap
from crosslmm.stats.totals import UNIT, Draws, NewSeeds, resample_means, simultaneous_critical_value


def further(*seeds, replicates=40_000):
    return NewSeeds(seeds, replicates, 0)


def test_seeds_alone_have_students_interval():
    values = {"1": 9.0, "2": 14.0, "3": 10.0}
    found = further("123").mean(values, {})
    expected = stats.t.interval(0.95, 2, 11, np.std([9, 14, 10], ddof=1) / math.sqrt(3))
    ends = found.ends()
    assert (ends["low"], ends["high"]) == pytest.approx(expected) and ends["by"] == "seed"
    drawn = further("123").mean(values, {"subject": np.full(40_000, 11.0)}).ends()
    assert (drawn["low"], drawn["high"]) == pytest.approx(expected, rel=0.06)
    alone = further("1").mean({"1": 9.0}, {})
    assert alone.value == 9 and math.isnan(alone.ends()["low"]) and alone.freedom == 0


def test_the_wider_cluster_counts_and_seeds_widen_both():
    random = np.random.default_rng(1)
    drawn = {"subject": random.normal(11, 3, 40_000), "sentence": random.normal(11, 2, 40_000)}
    one = further("1").mean({"1": 11.0}, drawn, n=7)
    ends = one.ends()
    assert ends["by"] == "subject" and ends["se"] == pytest.approx(3, rel=0.02) and one.n == 7
    assert (ends["low"], ends["high"]) == pytest.approx((11 - 5.88, 11 + 5.88), rel=0.02)
    seeds = {"1": 9.0, "2": 14.0, "3": 10.0}
    wider = further("123").mean(seeds, drawn).ends()
    between = np.std([9, 14, 10], ddof=1) / math.sqrt(3)
    assert wider["se"] == pytest.approx(math.hypot(3, between), rel=0.02)
    # The sum of a normal and a t variable, by quadrature.
    x = np.linspace(-60, 60, 40_001)
    below = np.trapezoid(
        stats.t.pdf(x, 2) * stats.norm.cdf((wider["high"] - 11 - between * x) / 3), x
    )
    assert below == pytest.approx(0.975, abs=0.003)


def test_what_a_seed_does_to_two_lms_alike_leaves_their_difference():
    seeds, random = further("12", "12", "34"), np.random.default_rng(2)
    drawn = [{"subject": random.normal(0, 1, 40_000)} for _ in range(3)]
    a = seeds.mean({"1": 0.0, "2": 30.0}, drawn[0])
    b = seeds.mean({"1": 5.0, "2": 35.0}, drawn[1])
    c = seeds.mean({"3": 5.0, "4": 35.0}, drawn[2])
    assert (a - b).se("subject") == pytest.approx(math.sqrt(2), rel=0.02)
    assert (a - c).se("subject") == pytest.approx(math.sqrt(2 + 2 * 15**2), rel=1e-3)
    assert (a + b).se("subject") == pytest.approx(math.hypot(math.sqrt(2), 30), rel=0.02)
    assert (a - Draws(1.0, drawn=drawn[1])).freedom == 1


def test_held_together_is_wider_than_each():
    random = np.random.default_rng(3)
    totals = [Draws(0.0, drawn={"subject": random.normal(0, 1, 9_000)}) for _ in range(5)]
    reach = simultaneous_critical_value(totals, [(place, 4) for place in range(4)])["subject"]
    # Dunnett's, of four against one: 2.44 standard errors.
    assert reach == pytest.approx(2.44, abs=0.05)
    ends = (totals[0] - totals[4]).ends({"subject": reach})
    assert ends["high_all"] == pytest.approx(reach * math.sqrt(2), rel=0.03)
    assert ends["high_all"] > ends["high"] > 0


@pytest.mark.merge
@pytest.mark.parametrize("S,between", [(2, 0.05), (2, 0.3), (2, 1.0), (3, 0.15), (3, 1.0)])
def test_intervals_cover_what_they_should(S, between):
    """Seeds and sentences both drawn anew, many times: 95 % of the intervals, or more, have the truth."""
    random = np.random.default_rng([S, int(100 * between)])
    names, covered = [str(n) for n in range(S)], 0
    for n in range(300):
        sentences, seeds = random.normal(1, 1, 60), random.normal(0, between, S)
        values = sentences + seeds[:, None] + random.normal(0, 0.3, (S, 60))
        drawn = bootstrap.draws(values.T, 400, n).mean(1)
        each = dict(zip(names, values.sum(1)))
        ends = NewSeeds([names], 400, n).mean(each, {"sentence": drawn}).ends()
        covered += ends["low"] < 60 < ends["high"]
    assert covered / 300 > 0.925


@pytest.mark.parametrize("S", [2, 3, 5])
def test_means_over_units_and_few_seeds_cover_the_true_value(S):
    """Seeds vary most: resampling them would cover 52, 77 and 88 %."""
    random, covered, repeats = np.random.default_rng(S), 0, 300
    for n in range(repeats):
        units, seeds = random.normal(5, 1, 40), random.normal(0, 2, S)
        values = units + seeds[:, None] + random.normal(0, 0.3, (S, 40))
        (mean,) = resample_means(values[..., None], n, 1000)
        ends = mean.ends()
        covered += ends["low"] < 5 < ends["high"]
    assert 0.92 <= covered / repeats <= 0.99


def test_means_over_units_are_of_the_measured_ones_and_columns_share_their_draws():
    values = np.random.default_rng(6).normal(5, 1, (2, 9, 1)) * [1, 2, 1]
    values[:, 3, 2] = np.nan
    first, double, less = resample_means(values, 1, 500)
    assert double.value == pytest.approx(2 * first.value) and double.n == 9
    np.testing.assert_allclose(double.of(UNIT), 2 * first.of(UNIT))
    assert less.value == pytest.approx(np.nanmean(values[..., 2]))
    (alone,) = resample_means(values[:1, :, :1], 1, 500)
    assert not np.any(alone.noise) and alone.value == pytest.approx(values[0, :, 0].mean())
    expected = bootstrap.draws(values[0, :, :1], 500, 1)[:, 0] / 9
    np.testing.assert_allclose(alone.of(UNIT), expected)


@pytest.mark.merge
@pytest.mark.parametrize("S,most", [(2, 0.9), (3, 0.94)])
def test_satterthwaites_degrees_of_freedom_would_not_cover(S, most):
    """Why they are not taken: of few seeds that decide, with a cluster's error of 1 beside."""
    random = np.random.default_rng(4)
    seeds = random.normal(0, 4 * math.sqrt(S), (4_000, S))
    means = seeds.mean(1) + random.normal(0, 1, 4_000)
    between = seeds.std(1, ddof=1) / math.sqrt(S)
    se = np.hypot(1, between)
    satterthwaite = se * stats.t.ppf(0.975, (S - 1) * (se / between) ** 4)
    names = [str(n) for n in range(S)]
    further = NewSeeds([names], 4_000, 0)
    drawn = {"subject": random.normal(0, 1, 4_000)}
    ends = [
        further.mean(dict(zip(names, each - each.mean())), drawn).ends()["high"] for each in seeds
    ]
    assert np.mean(abs(means) <= satterthwaite) < most
    assert np.mean(abs(means) <= ends) > 0.94
