"""Test statistics against statsmodels' cluster-robust errors, every permutation written out."""

import itertools

import numpy as np
import pytest
import statsmodels.api as sm

from crosslmm import plugins
from crosslmm.errors import InputError
from crosslmm.stats.permutation import permutation_p, permutation_test, statistic_of

SIZES = [1, 3, 4, 8, 2, 6, 5]


def differences(seed=0, sizes=SIZES):
    """Return differences in clusters of these sizes, and the clusters."""
    random = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    return random.normal(0.4, 1, len(clusters)) + random.normal(0, 1, len(sizes))[
        clusters
    ], clusters


def robust_t(values, clusters):
    """Return mean / cluster-robust standard error, by statsmodels."""
    settings = {"groups": clusters, "use_correction": False}
    return (
        sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds=settings).tvalues[0]
    )


STATISTICS = {"mean": lambda values, clusters: values.mean(), "studentised": robust_t}


def test_each_statistic_has_an_independent_implementation():
    assert set(plugins.names("crosslmm.stats.statistics")) == set(STATISTICS)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("seed", range(3))
def test_a_statistic_and_its_p_over_every_permutation(name, seed):
    values, clusters = differences(seed)
    expected = STATISTICS[name](values, clusters)
    assert statistic_of(values, clusters, name) == pytest.approx(expected)
    signs = np.array(list(itertools.product([1, -1], repeat=len(SIZES))))
    every = [abs(STATISTICS[name](values * row[clusters], clusters)) for row in signs]
    exact = np.mean(np.array(every) >= abs(expected) * (1 - 1e-9))
    p = permutation_p(values, 40_000, seed, clusters, statistic=name)
    assert p == pytest.approx(exact, abs=0.012)


def test_with_clusters_of_one_size_both_statistics_have_one_p():
    values, clusters = differences(sizes=[4] * 9)
    p = [permutation_p(values, 999, 1, clusters, statistic=name) for name in STATISTICS]
    assert p[0] == p[1]
    assert permutation_p(values, 999, 1) == permutation_p(values, 999, 1, statistic="studentised")
    values, clusters = differences()
    p = [permutation_p(values, 9999, 1, clusters, statistic=name) for name in STATISTICS]
    assert p[0] != p[1]


@pytest.mark.parametrize("name", STATISTICS)
def test_variation_between_seeds_widens_it(name):
    values, clusters = differences()
    same, different = np.full(3, 0.4), np.array([-0.5, 0.4, 1.3])
    alone = permutation_p(values, 9999, 1, clusters, statistic=name)
    assert permutation_p(values, 9999, 1, clusters, same, statistic=name) == alone
    assert permutation_p(values, 9999, 1, clusters, different, statistic=name) > alone


def test_no_difference_and_no_variance():
    clusters = np.repeat(np.arange(4), 10)
    assert permutation_p(np.zeros(40), 99, 1, clusters, statistic="studentised") == 1
    # Only the permutations that turn all signs or none are as extreme: 2 of 16.
    p = permutation_p(np.ones(40), 9999, 1, clusters, statistic="studentised")
    assert p == pytest.approx(2 / 16, abs=0.015)


def test_an_unknown_statistic_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="no test statistic is called 'studentized'; did you mean"):
        permutation_test([1.0, 2], [2.0, 1], statistic="studentized")
