"""Meta-analysis against published results of the BCG vaccine trials, and against its definitions."""

import math

import numpy as np
import pytest

from crosslmm.stats.meta_analysis import between_groups, combine

# Trials of the BCG vaccine (Colditz et al. 1994): cases and others, vaccinated and not.
BCG = np.array(
    [
        (4, 119, 11, 128),
        (6, 300, 29, 274),
        (3, 228, 11, 209),
        (62, 13536, 248, 12619),
        (33, 5036, 47, 5761),
        (180, 1361, 372, 1079),
        (8, 2537, 10, 619),
        (505, 87886, 499, 87892),
        (29, 7470, 45, 7232),
        (17, 1699, 65, 1600),
        (186, 50448, 141, 27197),
        (5, 2493, 3, 2338),
        (27, 16886, 29, 17825),
    ],
    float,
)


@pytest.fixture
def bcg():
    a, b, c, d = BCG.T
    effect = np.log(a / (a + b) / (c / (c + d)))
    return effect, np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))


def test_bcg_trials_have_the_published_results(bcg):
    # R's metafor, on the same trials: rma(method="FE") and rma(method="PM").
    result = combine(*bcg)
    assert result.k == 13
    assert (result.fixed, result.fixed_se) == pytest.approx((-0.4303, 0.0405), abs=5e-5)
    assert result.q == pytest.approx(152.2330, abs=5e-4)
    assert result.i2 == pytest.approx(0.9212, abs=5e-4)
    assert result.tau2 == pytest.approx(0.3181, abs=5e-4)
    assert result.random == pytest.approx(-0.7150, abs=2e-4)


def test_tau2_solves_paule_and_mandels_equation(bcg):
    effect, se = bcg
    result = combine(effect, se)
    weight = 1 / (se**2 + result.tau2)
    mean = weight @ effect / weight.sum()
    assert weight @ (effect - mean) ** 2 == pytest.approx(len(effect) - 1, rel=1e-5)
    assert result.random == pytest.approx(mean)
    assert result.weights == pytest.approx(weight / weight.sum())


def test_the_interval_is_hartung_and_knapps_by_hand():
    from scipy import stats

    effect, se = np.array([1.0, 3.0, 8.0]), np.array([0.5, 1.0, 0.7])
    result = combine(effect, se)
    weight = 1 / (se**2 + result.tau2)
    spread = math.sqrt(weight @ (effect - result.random) ** 2 / (2 * weight.sum()))
    assert result.random_high - result.random == pytest.approx(stats.t.ppf(0.975, 2) * spread)
    predicted = stats.t.ppf(0.975, 1) * math.sqrt(result.tau2 + spread**2)
    assert result.prediction_high - result.random == pytest.approx(predicted)


def test_equal_effects_do_not_narrow_the_interval():
    result = combine([2.0, 2.0, 2.0], [1.0, 1.0, 1.0])
    assert (result.tau2, result.q, result.i2) == pytest.approx((0, 0, 0), abs=1e-12)
    assert result.random_se == pytest.approx(result.fixed_se) == pytest.approx(1 / math.sqrt(3))


def test_results_are_in_the_unit_of_the_effects():
    effect, se = np.array([0.4, 1.9, 1.2, -0.5]), np.array([0.3, 0.4, 0.2, 0.6])
    one, small = combine(effect, se), combine(effect / 1000, se / 1000)
    assert small.random * 1000 == pytest.approx(one.random, rel=1e-9)
    assert small.tau2 * 1e6 == pytest.approx(one.tau2, rel=1e-6)
    assert (small.q, small.i2, small.p) == pytest.approx((one.q, one.i2, one.p), rel=1e-6)


def test_one_estimate_is_itself():
    result = combine([1.5], [0.5])
    assert (result.fixed, result.random, result.random_se, result.tau2) == (1.5, 1.5, 0.5, 0.0)
    assert result.random_low == pytest.approx(1.5 - 0.97998, abs=1e-4)
    assert math.isnan(result.q) and math.isnan(result.prediction_low)


@pytest.mark.parametrize(
    "effect, se", [([], []), ([1.0], [0.0]), ([1.0, 2.0], [1.0]), ([math.nan], [1.0])]
)
def test_refused(effect, se):
    with pytest.raises(ValueError):
        combine(effect, se)


def test_groups_differ_by_their_means():
    low, high = combine([0.0, 0.1], [0.1, 0.1]), combine([5.0, 5.1], [0.1, 0.1])
    q, df, p = between_groups([low, high])
    spread = low.random_se**2 + high.random_se**2
    assert q == pytest.approx((high.random - low.random) ** 2 / spread)
    assert df == 1 and p < 1e-6
    assert math.isnan(between_groups([low])[2])


def test_random_effects_interval_covers_the_mean_of_studies():
    random, covered = np.random.default_rng(1), 0
    for _ in range(400):
        se = random.uniform(0.5, 1.5, 6)
        effect = random.normal(1.0, 1.0, 6) + random.normal(0, se)
        result = combine(effect, se)
        covered += result.random_low < 1.0 < result.random_high
    assert 0.92 < covered / 400 <= 0.99
