"""Statistics for others: the paired permutation test, Holm's correction, Wilson's interval."""

import gc
import itertools
import math
import re

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from crosslmm.errors import InputError
from crosslmm.stats import holm, permutation_test, wilson
from crosslmm.stats.groups import letters


def test_p_is_that_of_scipy_over_all_permutations():
    random = np.random.default_rng(0)
    a = random.normal(0.5, 1, 11)
    b = random.normal(0, 1, 11)
    exact = stats.permutation_test(
        (a, b), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    found = permutation_test(a, b, permutations=50_000, seed=1)
    assert found.difference == pytest.approx(exact.statistic)
    assert found.p == pytest.approx(exact.pvalue, abs=5 * math.sqrt(exact.pvalue / 50_000))
    assert found.permutations == 50_000


def test_it_is_two_sided_and_repeats():
    random = np.random.default_rng(1)
    a, b = random.normal(size=(2, 40))
    one, other = permutation_test(a, b, seed=3), permutation_test(b, a, seed=3)
    assert one.p == other.p and one.difference == -other.difference
    assert one == permutation_test(a, b, seed=3) != permutation_test(a, b, seed=4)


def test_clusters_of_any_kind_are_swapped_together():
    random = np.random.default_rng(2)
    a, b = np.repeat(random.normal(0.6, 1, (8, 1)), 30, axis=1).ravel(), np.zeros(240)
    cluster = np.repeat([f"s{k}" for k in range(8)], 30)
    within = permutation_test(a, b, cluster=cluster, permutations=20_000)
    means = permutation_test(a[::30], b[::30], permutations=20_000)
    assert within.p == pytest.approx(means.p, abs=0.02)
    assert permutation_test(a, b).p < within.p / 10


@pytest.mark.parametrize(
    "arguments,message",
    [
        (([1.0, 2.0], [1.0]), "a has 2 losses and b 1"),
        (([], []), "a has 0 losses"),
        (([1.0, math.nan], [1.0, 2.0]), "a has nan at index 1"),
        (([[1.0]], [[1.0]]), "a has 2 axes"),
    ],
)
def test_losses_that_cannot_be_compared(arguments, message):
    with pytest.raises(InputError, match=message):
        permutation_test(*arguments)
    with pytest.raises(InputError, match="one cluster, 's'"):
        permutation_test([1.0, 2.0], [2.0, 1.0], cluster=["s", "s"])
    with pytest.raises(InputError, match="cluster has 1 values for 2"):
        permutation_test([1.0, 2.0], [2.0, 1.0], cluster=["s", None])


def test_holm_is_statsmodels_to_the_last_digit(monkeypatch):
    monkeypatch.setattr(gc, "collect", lambda: 0)  # theirs takes most of a second each time
    random = np.random.default_rng(3)
    for n in range(1, 40):
        p = (random.integers(0, 1000, n) + 1) / 1001
        assert holm(p.tolist()) == multipletests(p, method="holm")[1].tolist()
    assert holm([]) == [] and math.isnan(holm([math.nan])[0])


@pytest.mark.parametrize("hits", [0, 1, 3, 17.4, 20])
def test_wilson_is_statsmodels(hits):
    assert wilson(hits / 20, 20) == pytest.approx(
        proportion_confint(hits, 20, method="wilson"), rel=1e-14, abs=1e-15
    )


def test_letters_are_shared_by_those_that_are_alike_and_no_others():
    random = np.random.default_rng(4)
    for count in (1, 2, 5, 12, 30):
        upper = np.triu(random.random((count, count)) < 0.6, 1)
        found = letters(count, lambda a, b, known=upper: bool(known[a, b]))
        assert all(found)
        for a, b in itertools.combinations(range(count), 2):
            assert bool(set(marks(found[a])) & set(marks(found[b]))) == bool(upper[a, b])
    assert letters(3, lambda a, b: True) == ["a"] * 3 and letters(0, lambda a, b: True) == []
    assert letters(3, lambda a, b: False) == ["a", "b", "c"]
    assert letters(55, lambda a, b: a == b)[50:] == ["Y", "Z", "(53)", "(54)", "(55)"]


def marks(text):
    """Return the letters of a text, numbers in brackets as one."""
    return re.findall(r"\(\d+\)|[a-zA-Z]", text)
