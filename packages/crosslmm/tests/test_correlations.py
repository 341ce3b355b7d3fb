"""Correlations against scipy; Steiger's test against its published example and against chance."""

import math

import numpy as np
import pytest
from scipy import stats

from crosslmm.stats.correlations import correlation, steiger


def test_steigers_example():
    """Of 103 persons, r = .40 and .50 with a third at .10: t = −0.89, p = .37 (Steiger 1980, case A)."""
    t, p = steiger(0.4, 0.5, 0.1, 103)
    assert (round(t, 2), round(p, 2)) == (-0.89, 0.37)


def test_the_p_of_equal_correlations_is_uniform():
    random = np.random.default_rng(1)
    shared, b, c = random.normal(size=(3, 2000, 60))
    a = shared + 0.8 * (b + c)  # goes with both alike
    rows = []
    for x, y, z in zip(a, b + 0.3 * c, c + 0.3 * b, strict=True):
        r = np.corrcoef([x, y, z])
        rows.append(steiger(r[0, 1], r[0, 2], r[1, 2], 60)[1])
    assert stats.kstest(rows, "uniform").pvalue > 0.01


def test_of_few_or_constant_pairs_there_is_none():
    assert math.isnan(correlation([1, 2], [2, 1]).value)
    assert math.isnan(correlation([1, 2, 3], [2, 2, 2]).value)
    assert math.isnan(steiger(0.4, 0.5, 0.1, 3)[0])


@pytest.mark.parametrize("ranks", [True, False])
def test_missing_values_are_left_out(ranks):
    random = np.random.default_rng(2)
    a, b = random.normal(size=(2, 30))
    expected = (stats.spearmanr if ranks else stats.pearsonr)(a, b)
    found = correlation([*a, math.nan, 3], [*b, 1, math.nan], ranks)
    assert (found.value, found.p, found.n) == (expected.statistic, expected.pvalue, 30)
